// Entries, newest first, page by page.
import type { LedgerEntry } from '../../../../src/api/ledger.ts';
import { Accordion, Anchor, Button, Code, Group, Stack, Table, Text, TextInput } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { api } from '../../api/client.ts';
import { useAction } from '../../components/action.tsx';
import { StateBadge } from '../../components/state-badge.tsx';
import { Empty, Shown } from '../../components/states.tsx';
import { withLocalTimes } from '../../components/time-texts.ts';
import { Ago, Until } from '../../components/time.tsx';
import { numberText } from '../../components/format.ts';
import type { RowDocument } from './documents.ts';
import { documentIdOf, useDocuments } from './documents.ts';
import { useRepair } from './kinds.tsx';
import { repairOfEntry } from './repair-labels.ts';
import { useRepairs } from './use-repairs.ts';
import { ShowMore } from '../../components/show-more.tsx';

export function Rows({ state, kind }: { readonly state: 'open' | 'resolved'; readonly kind: string | null }) {
  const query = useInfiniteQuery({
    queryKey: ['ledger', 'rows', state, kind],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      api('GET /api/v1/ledger', {
        query: { state, kind: kind ?? undefined, after: pageParam, limit: 50 },
        signal,
      }),
    getNextPageParam: ({ next }) => next ?? undefined,
  });
  return (
    <div>
      <Shown
        what="the entries"
        query={query}
        isEmpty={({ pages }) => pages.every(({ entries }) => entries.length === 0)}
        empty={
          <Empty title={state === 'open' ? 'No open entries' : 'No resolved entries'}>
            {kind === null
              ? state === 'open'
                ? 'Failures and fallbacks appear here, with their cause and repair.'
                : 'Entries move here when a repair or a person resolves them.'
              : `Choose a kind other than ${kind}.`}
          </Empty>
        }
      >
        {({ pages }) => (
          <Accordion variant="separated" order={2} chevronPosition="left">
            {pages.map(({ entries }, index) => (
              <PageRows key={entries[0]?.id ?? index} entries={entries} />
            ))}
          </Accordion>
        )}
      </Shown>
      <ShowMore of={query} />
    </div>
  );
}

/** Documents are loaded page by page, like the entries. */
function PageRows({ entries }: { readonly entries: readonly LedgerEntry[] }) {
  const documents = useDocuments(entries);
  return entries.map((entry) => (
    <Row key={entry.id} entry={entry} document={documents.get(documentIdOf(entry) ?? '') ?? null} />
  ));
}

interface RowProps {
  readonly entry: LedgerEntry;
  readonly document: RowDocument | null;
}

function Row({ entry, document }: RowProps) {
  return (
    <Accordion.Item value={entry.id}>
      <Accordion.Control>
        <Group gap="xs" justify="space-between">
          <Text size="sm" fw={600}>
            {entry.kind}
          </Text>
          <Group gap="xs">
            <StateBadge tone="idle">{entry.cause}</StateBadge>
            {entry.count > 1 ? <Text size="xs">× {entry.count}</Text> : null}
            <Text size="xs" c="dimmed">
              {entry.resolved_at === null ? (
                <Ago at={entry.first_seen_at} />
              ) : (
                <>
                  resolved <Ago at={entry.resolved_at} />
                </>
              )}
            </Text>
          </Group>
        </Group>
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }} lineClamp={2}>
          {document === null ? entry.subject : `In “${document.title}”`}: {entry.resolution ?? entry.message}
        </Text>
      </Accordion.Control>
      <Accordion.Panel>
        <Detail entry={entry} document={document} />
      </Accordion.Panel>
    </Accordion.Item>
  );
}

function Detail({ entry, document }: RowProps) {
  const repair = useRepair();
  const activeRepair = repairOfEntry(entry.id, useRepairs());
  const facts: readonly (readonly [string, React.ReactNode])[] = [
    ['Message', withLocalTimes(entry.message)],
    ['Subject', entry.subject],
    ...(document === null
      ? []
      : ([
          [
            'Document',
            <Anchor key="document" component={Link} href={document.href} size="sm">
              {document.title}
            </Anchor>,
          ],
        ] as const)),
    ['Occurrences', numberText(entry.count)],
    ['First seen', <Ago key="first" at={entry.first_seen_at} />],
    ['Last seen', <Ago key="last" at={entry.last_seen_at} />],
    ...(entry.resolved_at === null
      ? ([
          ['Repair attempts', entry.repair_attempts],
          ['Next attempt', <Until key="next" at={entry.next_repair_at} over="due" />],
        ] as const)
      : ([['Resolution', entry.resolution ?? '']] as const)),
    ...(entry.last_repair_error === null
      ? []
      : ([['Last error', withLocalTimes(entry.last_repair_error)]] as const)),
  ];
  return (
    <Stack gap="sm">
      <Table withRowBorders={false} verticalSpacing={2} layout="fixed">
        <Table.Tbody>
          {facts.map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Th w={140} fw={400} c="dimmed" style={{ verticalAlign: 'top' }}>
                {name}
              </Table.Th>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{value}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {Object.keys(entry.details).length === 0 ? null : (
        <Code block tabIndex={0} style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {JSON.stringify(entry.details, null, 2)}
        </Code>
      )}
      {entry.resolved_at === null ? (
        <Group align="flex-end">
          <Button size="xs" loading={repair.isRunning} onClick={() => repair.run({ id: entry.id })}>
            Repair entry
          </Button>
          {activeRepair === null ? null : (
            <Text size="sm" role="status">
              {activeRepair}
            </Text>
          )}
          <ResolveForm id={entry.id} />
        </Group>
      ) : null}
    </Stack>
  );
}

/** Resolves an entry manually, with a note. */
function ResolveForm({ id }: { readonly id: string }) {
  const [text, setText] = useState('');
  const resolve = useAction(
    (resolution: string) => api('POST /api/v1/ledger/:id/resolve', { params: { id }, body: { resolution } }),
    { stale: ['ledger'], done: () => 'Entry resolved.' },
  );
  return (
    <Group gap="xs" align="flex-end">
      <TextInput
        size="xs"
        label="Resolve manually"
        placeholder="What was done"
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      <Button
        size="xs"
        variant="default"
        disabled={text.trim() === ''}
        loading={resolve.isRunning}
        onClick={() => resolve.run(text.trim())}
      >
        Resolve entry
      </Button>
    </Group>
  );
}
