// The limit of one organization: seen, changed in place, taken back to the default.
import { ActionIcon, Button, Group, NumberInput, Text } from '@mantine/core';
import { IconPencil } from '@tabler/icons-react';
import type { FormEvent } from 'react';
import { useState } from 'react';
import type { LimitAnswer } from '../../../../src/http/contract.ts';
import { call } from '../../api/client.ts';
import { useAct } from '../../parts/act.tsx';

export function LimitEditor({ limit }: { readonly limit: LimitAnswer }) {
  // Once it was open, whoever walks by keyboard is led back to where they were.
  const [state, setState] = useState<'untouched' | 'open' | 'closed'>('untouched');
  return state === 'open' ? (
    <Editor limit={limit} onClose={() => setState('closed')} />
  ) : (
    <Group gap={4} wrap="nowrap">
      <Text size="sm">
        {limit.limit}
        {limit.custom_limit === null ? ' (default)' : ''}
      </Text>
      <ActionIcon
        size="sm"
        variant="subtle"
        aria-label={`Change the limit of ${limit.organization_name}`}
        onClick={() => setState('open')}
        autoFocus={state === 'closed'}
      >
        <IconPencil size={14} />
      </ActionIcon>
    </Group>
  );
}

function Editor({ limit, onClose }: { readonly limit: LimitAnswer; readonly onClose: () => void }) {
  const { organization_name: name, organization_id: id } = limit;
  const [value, setValue] = useState<number | string>(limit.limit);
  const save = useAct(
    (wanted: number | null) =>
      wanted === null
        ? call('DELETE', `/api/v1/limits/${id}`)
        : call('PUT', `/api/v1/limits/${id}`, { body: { limit: wanted } }),
    {
      stale: ['tenants', 'flow'],
      done: (_, wanted) => {
        onClose();
        return wanted === null
          ? `${name} has the default limit again.`
          : `${name} may have ${wanted} under way at once.`;
      },
    },
  );
  const isWhole = typeof value === 'number' && Number.isInteger(value) && value >= 1;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isWhole) save.run(value);
  };
  return (
    <form onSubmit={submit} onKeyDown={({ key }) => key === 'Escape' && onClose()}>
      <Group gap={4} align="flex-start">
        <NumberInput
          size="xs"
          w={isWhole ? 80 : 150}
          min={1}
          allowDecimal={false}
          aria-label={`Limit of ${name}`}
          value={value}
          onChange={setValue}
          error={isWhole ? null : 'A whole number, 1 or more. To let nothing in, revoke its keys.'}
          data-autofocus
          autoFocus
        />
        <Button size="compact-xs" type="submit" disabled={!isWhole} loading={save.isRunning}>
          Save
        </Button>
        {limit.custom_limit === null ? null : (
          <Button size="compact-xs" variant="default" onClick={() => save.run(null)}>
            Default
          </Button>
        )}
        <Button size="compact-xs" variant="subtle" onClick={onClose}>
          Cancel
        </Button>
      </Group>
    </form>
  );
}
