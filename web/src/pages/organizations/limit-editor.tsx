// Limit of an organization, editable in place.
import type { Limit } from '../../../../src/api/limits.ts';
import { ActionIcon, Button, Group, Text, TextInput } from '@mantine/core';
import { IconPencil } from '@tabler/icons-react';
import type { FormEvent } from 'react';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction } from '../../components/action.tsx';
import { numberText } from '../../components/format.ts';
import { highestLimit, parseLimit } from './parse-limit.ts';

export function LimitEditor({ limit }: { readonly limit: Limit }) {
  // After closing, focus returns to the edit button.
  const [state, setState] = useState<'untouched' | 'open' | 'closed'>('untouched');
  return state === 'open' ? (
    <Editor limit={limit} onClose={() => setState('closed')} />
  ) : (
    <Group gap={4} wrap="nowrap">
      <Text size="sm">
        {numberText(limit.limit)}
        {limit.custom_limit === null ? ' (default)' : ''}
      </Text>
      <ActionIcon
        size="sm"
        variant="subtle"
        aria-label={`Edit limit of ${limit.organization_name}`}
        onClick={() => setState('open')}
        autoFocus={state === 'closed'}
      >
        <IconPencil size={14} />
      </ActionIcon>
    </Group>
  );
}

function Editor({ limit, onClose }: { readonly limit: Limit; readonly onClose: () => void }) {
  const { organization_name: name, organization_id: id } = limit;
  const [text, setText] = useState(String(limit.limit));
  const save = useAction(
    (wanted: number | null) =>
      wanted === null
        ? api('DELETE /api/v1/limits/:organization', { params: { organization: id } })
        : api('PUT /api/v1/limits/:organization', { params: { organization: id }, body: { limit: wanted } }),
    {
      stale: ['organizations', 'flow'],
      done: (_, wanted) => {
        onClose();
        return wanted === null
          ? `Reset the limit of ${name} to the default.`
          : `Set the limit of ${name} to ${wanted}.`;
      },
    },
  );
  const wanted = parseLimit(text);
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
              ? `Enter a whole number from 1 to ${highestLimit}. To block all requests, revoke its keys.`
              : null
          }
          data-autofocus
          autoFocus
        />
        <Button size="compact-xs" type="submit" disabled={wanted === null} loading={save.isRunning}>
          Save limit
        </Button>
        {limit.custom_limit === null ? null : (
          <Button size="compact-xs" variant="default" onClick={() => save.run(null)}>
            Reset to default
          </Button>
        )}
        <Button size="compact-xs" variant="subtle" onClick={onClose}>
          Cancel
        </Button>
      </Group>
    </form>
  );
}
