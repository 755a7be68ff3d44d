// Where an entity is mentioned; mentions that mean somebody else are parted from it.
import { Anchor, Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { EntityDetailAnswer } from '../../../../../src/http/contract.ts';
import { useAct } from '../../../parts/act.tsx';
import { Empty } from '../../../parts/states.tsx';
import { change } from '../ask.ts';
import { rangesOut } from '../marks.ts';
import { useAddress, usePlace } from '../place.ts';
import { counted } from '../words.ts';

type Mention = EntityDetailAnswer['mentions'][number];

const methodWords: Readonly<Record<string, string>> = {
  rules: 'by rules',
  model: 'by a model',
  structured: 'as the source says',
};

/** Shown before somebody asks for all. */
const fewMentions = 12;

export function Mentions({ entity }: { readonly entity: EntityDetailAnswer }) {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [isAll, setAll] = useState(false);
  const { mentions } = entity;
  if (mentions.length === 0) return <Empty title="No document mentions it now" />;
  const toggle = (id: string): void =>
    setChosen(chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id]);
  return (
    <Stack gap={4}>
      {(isAll ? mentions : mentions.slice(0, fewMentions)).map((mention) => (
        <MentionRow
          key={mention.mention_id}
          mention={mention}
          isChosen={chosen.includes(mention.mention_id)}
          onToggle={() => toggle(mention.mention_id)}
        />
      ))}
      {mentions.length > fewMentions && !isAll ? (
        <Button variant="subtle" size="compact-sm" onClick={() => setAll(true)}>
          {entity.mention_count > mentions.length
            ? `The newest ${mentions.length} of ${entity.mention_count}`
            : `All ${mentions.length}`}
        </Button>
      ) : null}
      {entity.mention_count > mentions.length && isAll ? (
        <Text size="xs" c="dimmed">
          The newest {mentions.length} of {entity.mention_count}.
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
  const at = start === null || end === null ? undefined : rangesOut([{ start, end }]);
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start">
      <Checkbox
        size="xs"
        mt={4}
        checked={isChosen}
        onChange={onToggle}
        aria-label={`${form} in ${title} means somebody else`}
      />
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        “{form}” in{' '}
        <Anchor component={Link} href={address(`/artifacts/${mention.artifact_uid}`, { at })} inherit>
          {title === '' ? 'a document' : title}
        </Anchor>
        <Text span size="xs" c="dimmed">
          {' '}
          {methodWords[mention.method] ?? mention.method}, {Math.round(mention.confidence * 100)} %
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
  readonly entity: EntityDetailAnswer;
  readonly chosen: readonly string[];
  readonly onDone: () => void;
}) {
  const place = usePlace();
  const address = useAddress();
  const [, go] = useLocation();
  const [name, setName] = useState('');
  const splitting = useAct(
    async () => {
      const body = { mention_ids: chosen, name: name.trim() };
      const made = await change<EntityDetailAnswer>(
        place,
        'POST',
        `/entities/${entity.entity_id}/split`,
        body,
      );
      onDone();
      go(address(`/entities/${made.entity_id}`));
      return made;
    },
    {
      stale: ['knowledge'],
      done: (made) =>
        `${made.canonical_name} is on its own now, with ${counted(made.mention_count, 'mention')}.`,
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
          label={`${counted(chosen.length, 'mention')} of somebody else, called`}
          required
          size="xs"
          flex="1 1 180px"
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <Button type="submit" size="xs" loading={splitting.isRunning} disabled={name.trim() === ''}>
          Part them
        </Button>
      </Group>
    </form>
  );
}
