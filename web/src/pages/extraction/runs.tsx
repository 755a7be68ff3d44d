// Runs, newest first.
import type { ExtractionRun, ExtractionRuns } from '../../../../src/api/extraction.ts';
import { Anchor, Badge, Code, Group, Progress, Table, Text, Title } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { get } from '../../api/client.ts';
import { useIsNarrow } from '../../parts/narrow.ts';
import { Empty, Failed, Loading } from '../../parts/states.tsx';
import { Ago, Took } from '../../parts/time.tsx';
import { Wide } from '../../parts/wide.tsx';
import { toneColor } from '../../theme.ts';
import {
  isOpen,
  itemsOf,
  originLabels,
  percentOf,
  rateText,
  runTone,
  totalOf,
  typesText,
} from './run-facts.ts';
import { ShowMore } from '../../parts/show-more.tsx';

export function Runs() {
  const query = useInfiniteQuery({
    queryKey: ['extraction', 'runs'],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }) =>
      get<ExtractionRuns>('/api/v1/extraction/runs', { after: pageParam, limit: 20 }, signal),
    getNextPageParam: ({ next }) => next,
    refetchInterval: 5_000,
  });
  const runs = query.data?.pages.flatMap((page) => page.runs);
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Runs
      </Title>
      {runs === undefined ? (
        query.isError ? (
          <Failed what="the runs" error={query.error} />
        ) : (
          <Loading what="the runs" />
        )
      ) : runs.length === 0 ? (
        <Empty title="No runs yet">
          Start one from a source above, or on the command line: <Code>headworks extract --help</Code>
        </Empty>
      ) : (
        <RunTable runs={runs} />
      )}
      <ShowMore of={query} mt="sm" />
    </section>
  );
}

function RunTable({ runs }: { readonly runs: readonly ExtractionRun[] }) {
  const isNarrow = useIsNarrow();
  if (isNarrow) return <NarrowRunTable runs={runs} />;
  return (
    <Wide label="Runs">
      <Table verticalSpacing="xs" miw={860} highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th miw={130}>Source</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th w={180}>Items</Table.Th>
            <Table.Th>Complete</Table.Th>
            <Table.Th ta="right">Rate</Table.Th>
            <Table.Th ta="right">Calls</Table.Th>
            <Table.Th ta="right">429s</Table.Th>
            <Table.Th>Started</Table.Th>
            <Table.Th>Duration</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {runs.map((run) => (
            <RunRow key={run.id} run={run} />
          ))}
        </Table.Tbody>
      </Table>
    </Wide>
  );
}

function RunRow({ run }: { readonly run: ExtractionRun }) {
  const items = itemsOf(run);
  const total = totalOf(run);
  return (
    <Table.Tr>
      <Table.Td>
        <RunLink run={run} />
        <Text size="xs" c="dimmed">
          {originLabels[run.origin]}
        </Text>
      </Table.Td>
      <Table.Td>
        <StateBadge run={run} />
      </Table.Td>
      <Table.Td>
        <Group gap="xs" wrap="nowrap">
          <Text size="sm">
            {items}
            {isOpen(run) && total !== null ? ` of ${total}` : ''}
          </Text>
          {isOpen(run) ? (
            <Progress
              flex={1}
              value={percentOf(items, total)}
              animated
              aria-label={`Progress of ${run.source}`}
            />
          ) : null}
        </Group>
      </Table.Td>
      <Table.Td>{typesText(run) ?? '–'}</Table.Td>
      <Table.Td ta="right">
        {rateText(run) ?? '–'}
        {isOpen(run) && run.multiplier > 1 ? (
          <Text size="xs" c="dimmed">
            backoff ×{run.multiplier.toFixed(1)}
          </Text>
        ) : null}
      </Table.Td>
      <Table.Td ta="right">{run.calls}</Table.Td>
      <Table.Td ta="right">{run.rate_limited_calls}</Table.Td>
      <Table.Td>
        <Ago at={run.started_at} />
      </Table.Td>
      <Table.Td>
        <Took from={run.started_at} to={run.finished_at} />
      </Table.Td>
    </Table.Tr>
  );
}

function NarrowRunTable({ runs }: { readonly runs: readonly ExtractionRun[] }) {
  return (
    <Table verticalSpacing="xs" horizontalSpacing={6} aria-label="Runs">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Source</Table.Th>
          <Table.Th>Complete</Table.Th>
          <Table.Th ta="right">Items</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {runs.map((run) => (
          <NarrowRunRow key={run.id} run={run} />
        ))}
      </Table.Tbody>
    </Table>
  );
}

function NarrowRunRow({ run }: { readonly run: ExtractionRun }) {
  const total = totalOf(run);
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>
        <RunLink run={run} />
        <Text size="xs" c="dimmed">
          {originLabels[run.origin]}, <Ago at={run.started_at} />
        </Text>
      </Table.Td>
      <Table.Td>
        <StateBadge run={run} />
        <Text size="xs" c="dimmed">
          {typesText(run) ?? '–'}
        </Text>
      </Table.Td>
      <Table.Td ta="right">
        {itemsOf(run)}
        {isOpen(run) && total !== null ? ` of ${total}` : ''}
        <Text size="xs" c="dimmed">
          {rateText(run) ?? '–'}
        </Text>
        <Text size="xs" c="dimmed">
          {run.rate_limited_calls} of {run.calls} rate-limited
        </Text>
      </Table.Td>
    </Table.Tr>
  );
}

function RunLink({ run }: { readonly run: ExtractionRun }) {
  return (
    <Anchor component={Link} href={`/extraction/runs/${run.id}`} fw={600} size="sm">
      {run.source}
    </Anchor>
  );
}

function StateBadge({ run }: { readonly run: ExtractionRun }) {
  return (
    <Badge variant="light" tt="none" color={toneColor[runTone[run.state]]}>
      {run.state}
    </Badge>
  );
}
