// The limit of one organization: seen, changed in place, taken back to the default.
import { ActionIcon, Button, Group, Text, TextInput } from '@mantine/core';
import { IconPencil } from '@tabler/icons-react';
import type { FormEvent } from 'react';
import { useState } from 'react';
import type { LimitAnswer } from '../../../../src/http/contract.ts';
import { call } from '../../api/client.ts';
import { useAct } from '../../parts/act.tsx';
import { highestLimit, limitIn } from './limit-in.ts';

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
  const [text, setText] = useState(String(limit.limit));
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
  const wanted = limitIn(text);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (wanted !== null) save.run(wanted);
  };
  return (
    <form onSubmit={submit} onKeyDown={({ key }) => key === 'Escape' && onClose()}>
      <Group gap={4} align="flex-start">
        <TextInput
          size="xs"
          w={wanted === null ? 170 : 100}
          inputMode="numeric"
          aria-label={`Limit of ${name}`}
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
          error={
            wanted === null
              ? `A whole number, 1 to ${highestLimit}. To let nothing in, revoke its keys.`
              : null
          }
          data-autofocus
          autoFocus
        />
        <Button size="compact-xs" type="submit" disabled={wanted === null} loading={save.isRunning}>
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
