// Throughput of a run, and its backoff after 429 responses.
import type { ExtractionRun, RunSamples } from '../../../../src/api/extraction.ts';
import { SimpleGrid } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api } from '../../api/client.ts';
import { Chart, type Line } from '../../components/chart.tsx';
import { Empty, Section, Shown } from '../../components/states.tsx';
import { throughputOf } from './throughput-of.ts';
import { isOpen } from './run-facts.ts';

export function Throughput({ run }: { readonly run: ExtractionRun }) {
  const query = useQuery({
    queryKey: ['extraction', 'samples', run.id],
    queryFn: ({ signal }) =>
      api('GET /api/v1/extraction/runs/:id/samples', { params: { id: run.id }, signal }),
    refetchInterval: isOpen(run) ? 2_000 : false,
  });
  return (
    <Section title="Throughput">
      <Shown
        what="throughput"
        query={query}
        isEmpty={({ samples }) => samples.length < 2}
        empty={
          <Empty title="Not enough data to chart">
            Throughput is sampled about once a second and kept in memory until the server restarts.
          </Empty>
        }
      >
        {({ samples }) => <ThroughputCharts samples={samples} />}
      </Shown>
    </Section>
  );
}

function ThroughputCharts({ samples }: { readonly samples: RunSamples['samples'] }) {
  const { times, rate, multiplier } = useMemo(() => {
    const throughput = throughputOf(samples);
    const rateLines: Line[] = [
      { label: 'items/s', color: 'teal', values: throughput.itemsPerSecond },
      { label: 'calls/s', color: 'blue', values: throughput.callsPerSecond },
    ];
    const multiplierLines: Line[] = [
      { label: 'backoff multiplier', color: 'orange', values: throughput.multiplier },
      { label: '429 responses', color: 'red', isSecond: true, values: throughput.rateLimitedCalls },
    ];
    return { times: throughput.times, rate: rateLines, multiplier: multiplierLines };
  }, [samples]);
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Chart label="Items and calls per second over time." times={times} lines={rate} />
      <Chart label="Backoff multiplier and 429 responses over time." times={times} lines={multiplier} />
    </SimpleGrid>
  );
}
