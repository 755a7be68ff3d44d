// Runs, newest first.
import type { ExtractionRun } from '../../../../src/api/extraction.ts';
import { Anchor, Code, Progress } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { api } from '../../api/client.ts';
import { numberText, rateText } from '../../components/format.ts';
import { ShowMore } from '../../components/show-more.tsx';
import { StateBadge } from '../../components/state-badge.tsx';
import { Empty, Section, Shown } from '../../components/states.tsx';
import { DataTable, Detail, type Column } from '../../components/table.tsx';
import { Ago, Took } from '../../components/time.tsx';
import { isOpen, itemsOf, originLabels, percentOf, runTone, totalOf, typesText } from './run-facts.ts';

export function Runs() {
  const query = useInfiniteQuery({
    queryKey: ['extraction', 'runs'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      api('GET /api/v1/extraction/runs', { query: { after: pageParam, limit: 20 }, signal }),
    getNextPageParam: ({ next }) => next ?? undefined,
    select: ({ pages }) => pages.flatMap(({ runs }) => runs),
    refetchInterval: 5_000,
  });
  return (
    <Section title="Runs">
      <Shown
        what="the runs"
        query={query}
        isEmpty={(runs) => runs.length === 0}
        empty={
          <Empty title="No runs yet">
            Start one from a source above, or on the command line: <Code>headworks extract --help</Code>
          </Empty>
        }
      >
        {(runs) => <DataTable label="Runs" columns={columns} rows={runs} keyOf={({ id }) => id} />}
      </Shown>
      <ShowMore of={query} />
    </Section>
  );
}

const columns: readonly Column<ExtractionRun>[] = [
  {
    title: 'Source',
    cell: (run) => (
      <>
        <Anchor component={Link} href={`/extraction/runs/${run.id}`} fw={600} size="sm">
          {run.source}
        </Anchor>
        <Detail>{originLabels[run.origin]}</Detail>
        <Detail isNarrowOnly>
          <Ago at={run.started_at} />
        </Detail>
      </>
    ),
  },
  {
    title: 'State',
    cell: (run) => (
      <>
        <StateBadge tone={runTone[run.state]}>{run.state}</StateBadge>
        <Detail>{typesText(run) ?? '–'}</Detail>
      </>
    ),
  },
  { title: 'Items', kind: 'number', cell: (run) => <Items run={run} /> },
  { title: 'Calls', kind: 'number', isWideOnly: true, cell: ({ calls }) => numberText(calls) },
  {
    title: 'Rate-limited',
    kind: 'number',
    isWideOnly: true,
    cell: ({ rate_limited_calls: calls }) => numberText(calls),
  },
  { title: 'Started', isWideOnly: true, cell: ({ started_at: at }) => <Ago at={at} /> },
  {
    title: 'Duration',
    kind: 'number',
    isWideOnly: true,
    cell: ({ started_at: from, finished_at: to }) => <Took from={from} to={to} />,
  },
];

function Items({ run }: { readonly run: ExtractionRun }) {
  const items = itemsOf(run);
  const total = totalOf(run);
  return (
    <>
      {numberText(items)}
      {isOpen(run) && total !== null ? ` of ${numberText(total)}` : ''}
      {isOpen(run) ? (
        <Progress value={percentOf(items, total)} animated aria-label={`Progress of ${run.source}`} />
      ) : null}
      <Detail>
        {run.items_per_second === null ? '–' : rateText(run.items_per_second)}
        {isOpen(run) && run.multiplier > 1 ? `, backoff ×${run.multiplier.toFixed(1)}` : ''}
      </Detail>
      <Detail isNarrowOnly>
        {run.rate_limited_calls} of {run.calls} calls rate-limited
      </Detail>
    </>
  );
}
