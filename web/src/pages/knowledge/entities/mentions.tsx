// Mentions of an entity; selected mentions can be split off into another entity.
import type { EntityDetail } from '../../../../../src/api/entities.ts';
import { Anchor, Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useAction } from '../../../components/action.tsx';
import { Empty } from '../../../components/states.tsx';
import { inSpace } from '../queries.ts';
import { formatRanges } from '../marks.ts';
import { useAddress, useSpaceRef } from '../space-ref.ts';
import { counted, percentText } from '../../../components/format.ts';

type Mention = EntityDetail['mentions'][number];

const methodLabels: Readonly<Record<string, string>> = {
  rules: 'by rules',
  model: 'by a model',
  structured: 'from metadata',
};

/** Shown before "Show all". */
const fewMentions = 12;

export function Mentions({ entity }: { readonly entity: EntityDetail }) {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [isAll, setAll] = useState(false);
  const { mentions } = entity;
  if (mentions.length === 0)
    return <Empty title="No mentions">Documents that mention this entity are listed here.</Empty>;
  const toggle = (id: string): void =>
    setChosen(chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id]);
  return (
    <Stack gap={4}>
      {(isAll ? mentions : mentions.slice(0, fewMentions)).map((mention) => (
        <MentionRow
          key={mention.id}
          mention={mention}
          isChosen={chosen.includes(mention.id)}
          onToggle={() => toggle(mention.id)}
        />
      ))}
      {mentions.length > fewMentions && !isAll ? (
        <Button variant="subtle" size="compact-sm" onClick={() => setAll(true)}>
          {entity.mention_count > mentions.length
            ? `Show the newest ${mentions.length} of ${entity.mention_count}`
            : `Show all ${mentions.length}`}
        </Button>
      ) : null}
      {entity.mention_count > mentions.length && isAll ? (
        <Text size="xs" c="dimmed">
          Showing the newest {mentions.length} of {entity.mention_count}.
        </Text>
      ) : null}
      {chosen.length > 0 ? <SplitForm entity={entity} chosen={chosen} onDone={() => setChosen([])} /> : null}
    </Stack>
  );
}

function MentionRow({
  mention,
  isChosen,
  onToggle,
}: {
  readonly mention: Mention;
  readonly isChosen: boolean;
  readonly onToggle: () => void;
}) {
  const address = useAddress();
  const { start_char: start, end_char: end, title, surface_form: form } = mention;
  const at = start === null || end === null ? undefined : formatRanges([{ start, end }]);
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start">
      <Checkbox
        size="xs"
        mt={4}
        checked={isChosen}
        onChange={onToggle}
        aria-label={`Select ${form} in ${title} for splitting`}
      />
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        “{form}” in{' '}
        <Anchor component={Link} href={address(`/artifacts/${mention.artifact_id}`, { at })} inherit>
          {title === '' ? 'a document' : title}
        </Anchor>
        <Text span size="xs" c="dimmed">
          {' '}
          {methodLabels[mention.method] ?? mention.method}, {percentText(mention.confidence)}
        </Text>
      </Text>
    </Group>
  );
}

function SplitForm({
  entity,
  chosen,
  onDone,
}: {
  readonly entity: EntityDetail;
  readonly chosen: readonly string[];
  readonly onDone: () => void;
}) {
  const spaceRef = useSpaceRef();
  const address = useAddress();
  const [, go] = useLocation();
  const [name, setName] = useState('');
  const splitting = useAction(
    async () => {
      const body = { mention_ids: [...chosen], name: name.trim() };
      const made = await inSpace(spaceRef, 'POST /api/v1/knowledge/entities/:id/split', {
        params: { id: entity.id },
        body,
      });
      onDone();
      go(address(`/entities/${made.id}`));
      return made;
    },
    {
      stale: ['knowledge'],
      done: (made) => `Created ${made.canonical_name} with ${counted(made.mention_count, 'mention')}.`,
    },
  );
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        splitting.run(undefined);
      }}
    >
      <Group gap="xs" align="flex-end" mt="xs">
        <TextInput
          label={`Name of the new entity for ${counted(chosen.length, 'mention')}`}
          required
          size="xs"
          flex="1 1 180px"
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <Button type="submit" size="xs" loading={splitting.isRunning} disabled={name.trim() === ''}>
          Split off mentions
        </Button>
      </Group>
    </form>
  );
}
