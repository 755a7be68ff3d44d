// Success rate and latency of a model over time.
import type { ModelHistory } from '../../../../src/api/models.ts';
import { Select, SimpleGrid } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api } from '../../api/client.ts';
import { Chart, type Line } from '../../components/chart.tsx';
import { Empty, Section, Shown } from '../../components/states.tsx';
import { hoursToShow } from './history-span.ts';

const spans = [
  { value: '1', label: 'Last hour' },
  { value: '24', label: 'Last day' },
  { value: '168', label: 'Last week' },
];

export function ModelHistory({ id }: { readonly id: number }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const day = useHistory(id, '24', chosen === null);
  const hours = chosen ?? hoursToShow(day.data);
  const query = useHistory(id, hours);
  return (
    <Section
      title="History"
      right={
        <Select
          size="xs"
          w={130}
          aria-label="Time range"
          data={spans}
          value={hours}
          allowDeselect={false}
          onChange={setChosen}
        />
      }
    >
      <Shown
        what="its history"
        query={query}
        isEmpty={({ intervals }) => intervals.length === 0}
        empty={<Empty title="No requests in this time range">Choose a longer one.</Empty>}
      >
        {(history) => <HistoryCharts history={history} />}
      </Shown>
    </Section>
  );
}

function useHistory(id: number, hours: string, isEnabled = true) {
  return useQuery({
    queryKey: ['models', 'history', id, hours],
    queryFn: ({ signal }) =>
      api('GET /api/v1/models/:id/history', { params: { id }, query: { hours }, signal }),
    refetchInterval: 30_000,
    enabled: isEnabled,
  });
}

function HistoryCharts({ history }: { readonly history: ModelHistory }) {
  const { times, reliability, latency } = useMemo(() => linesOf(history), [history]);
  const span = { from: Date.parse(history.since), to: Date.parse(history.until) };
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Chart
        label="Success rate and number of requests over time."
        times={times}
        lines={reliability}
        {...span}
      />
      <Chart label="Average latency in seconds over time." times={times} lines={latency} {...span} />
    </SimpleGrid>
  );
}

function linesOf({ intervals }: ModelHistory) {
  const times = intervals.map(({ at }) => Date.parse(at));
  const reliability: Line[] = [
    {
      label: 'success rate (%)',
      color: 'teal',
      values: intervals.map(({ requests, successes }) =>
        requests === 0 ? null : (successes / requests) * 100,
      ),
    },
    { label: 'requests', color: 'gray', isSecond: true, values: intervals.map(({ requests }) => requests) },
  ];
  const latency: Line[] = [
    {
      label: 'average latency (s)',
      color: 'blue',
      values: intervals.map(({ successes, average_seconds: average }) => (successes === 0 ? null : average)),
    },
  ];
  return { times, reliability, latency };
}
