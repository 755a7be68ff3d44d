// Two versions of an item side by side, with changed lines marked.
import type { VaultItem } from '../../../../src/api/extraction.ts';
import { Button, Code, Group, Select, SimpleGrid, Stack, Switch, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api } from '../../api/client.ts';
import { Shown } from '../../components/states.tsx';
import { withLocalTimes } from '../../components/time-texts.ts';
import { differingLines } from './differing-lines.ts';
import { allLines, foldedLines } from './folded-lines.ts';

interface ItemProps {
  readonly run: string;
  readonly type: string;
  readonly id: string;
}

export function ItemVersions({ run, type, id, onBack }: ItemProps & { readonly onBack: () => void }) {
  const query = useQuery({
    queryKey: ['extraction', 'vault', run, 'item', type, id],
    queryFn: ({ signal }) =>
      api('GET /api/v1/extraction/runs/:id/vault/item', {
        params: { id: run },
        query: { type, item: id },
        signal,
      }),
  });
  return (
    <Stack>
      <Group>
        <Button size="xs" variant="default" onClick={onBack}>
          Show all {type}
        </Button>
      </Group>
      <Shown what="the item" query={query}>
        {(answer) => <Compared key={id} run={run} type={type} id={id} answer={answer} />}
      </Shown>
    </Stack>
  );
}

function Compared({ answer, ...item }: ItemProps & { readonly answer: VaultItem }) {
  // By version number, not by count: old versions may have been pruned.
  const last = answer.versions.at(-1)?.number ?? 1;
  const isOne = answer.versions.length < 2;
  const [left, setLeft] = useState(answer.versions.at(-2)?.number ?? last);
  const [right, setRight] = useState(last);
  const [isFolded, setFolded] = useState(true);
  const older = useVersion(item, left);
  const newer = useVersion(item, right);
  const texts = [older.data?.json ?? '', newer.data?.json ?? ''] as const;
  const marks = useMemo(() => differingLines(texts[0], texts[1]), [texts[0], texts[1]]);
  const choices = answer.versions.map(({ number, first_seen_at: seen, is_deleted: isDeleted }) => ({
    value: String(number),
    label: `${number}, from ${withLocalTimes(seen)}${isDeleted ? ', deleted' : ''}`,
  }));
  return (
    <Stack>
      <Title order={2} size="h4">
        {answer.item.name ?? answer.item.id}
      </Title>
      <Text size="sm" c="dimmed">
        {isOne
          ? 'Unchanged since it was first extracted.'
          : `${answer.versions.length} versions. Changed lines are marked.`}
      </Text>
      {isOne ? null : (
        <Switch
          size="xs"
          label="Show changes only"
          checked={isFolded}
          onChange={({ currentTarget }) => setFolded(currentTarget.checked)}
        />
      )}
      <SimpleGrid cols={{ base: 1, lg: isOne ? 1 : 2 }}>
        {isOne ? null : (
          <Version
            label="Older version"
            choices={choices}
            number={left}
            onChoose={setLeft}
            query={older}
            marked={marks.left}
            isFolded={isFolded}
          />
        )}
        <Version
          label={isOne ? 'Version' : 'Newer version'}
          choices={choices}
          number={right}
          onChoose={setRight}
          query={newer}
          marked={marks.right}
          isFolded={!isOne && isFolded}
        />
      </SimpleGrid>
    </Stack>
  );
}

function useVersion({ run, type, id }: ItemProps, version: number) {
  return useQuery({
    queryKey: ['extraction', 'vault', run, 'data', type, id, version],
    queryFn: ({ signal }) =>
      api('GET /api/v1/extraction/runs/:id/vault/data', {
        params: { id: run },
        query: { type, item: id, version },
        signal,
      }),
  });
}

function Version({
  label,
  choices,
  number,
  onChoose,
  query,
  marked,
  isFolded,
}: {
  readonly label: string;
  readonly choices: readonly { readonly value: string; readonly label: string }[];
  readonly number: number;
  readonly onChoose: (version: number) => void;
  readonly query: ReturnType<typeof useVersion>;
  readonly marked: ReadonlySet<number>;
  /** Whether unchanged lines are folded. */
  readonly isFolded: boolean;
}) {
  return (
    <Stack gap="xs">
      <Select
        size="xs"
        label={label}
        data={choices}
        value={String(number)}
        allowDeselect={false}
        onChange={(value) => onChoose(Number(value ?? 1))}
      />
      <Shown what="the version" query={query}>
        {({ json }) =>
          json === null ? (
            <Text c="dimmed">Deleted in this version.</Text>
          ) : (
            <Code
              block
              tabIndex={0}
              aria-label={label}
              fz="xs"
              style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}
            >
              <Lines text={json} marked={marked} isFolded={isFolded} />
            </Code>
          )
        }
      </Shown>
    </Stack>
  );
}

function Lines({
  text,
  marked,
  isFolded,
}: {
  readonly text: string;
  readonly marked: ReadonlySet<number>;
  readonly isFolded: boolean;
}) {
  return (isFolded ? foldedLines(text, marked) : allLines(text, marked)).map((part) => {
    if ('equalLines' in part)
      return (
        <Text key={part.at} span inherit c="dimmed" fs="italic">
          {`⋯ ${part.equalLines} equal lines\n`}
        </Text>
      );
    return part.isMarked ? (
      <mark key={part.at}>{`${part.line}\n`}</mark>
    ) : (
      <span key={part.at}>{`${part.line}\n`}</span>
    );
  });
}
