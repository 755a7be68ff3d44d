// How fast a run went, and by how much refusals slowed it down.
import { SimpleGrid, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { ExtractionRunAnswer, RunSamplesAnswer } from '../../../../src/http/contract.ts';
import { get } from '../../api/client.ts';
import { Chart, type Line } from '../../parts/chart.tsx';
import { Empty, Shown } from '../../parts/states.tsx';
import { paceOf } from './pace-of.ts';
import { isOpen } from './run-facts.ts';

export function Pace({ run }: { readonly run: ExtractionRunAnswer }) {
  const query = useQuery({
    queryKey: ['extraction', 'samples', run.id],
    queryFn: ({ signal }) => get<RunSamplesAnswer>(`/api/v1/extraction/runs/${run.id}/samples`, {}, signal),
    refetchInterval: isOpen(run) ? 2_000 : false,
  });
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Pace
      </Title>
      <Shown
        what="its pace"
        query={query}
        isEmpty={({ samples }) => samples.length < 2}
        empty={
          isOpen(run) ? (
            <Empty title="It has just begun" />
          ) : (
            <Empty title="Too short for a picture, or before this server started">
              The pace is measured about once a second, and kept in memory.
            </Empty>
          )
        }
      >
        {({ samples }) => <PaceCharts samples={samples} />}
      </Shown>
    </section>
  );
}

function PaceCharts({ samples }: { readonly samples: RunSamplesAnswer['samples'] }) {
  const { times, rate, multiplier } = useMemo(() => {
    const pace = paceOf(samples);
    const rateLines: Line[] = [
      { label: 'items/s', color: 'teal', values: pace.itemsPerSecond },
      { label: 'calls/s', color: 'blue', values: pace.callsPerSecond },
    ];
    const multiplierLines: Line[] = [
      { label: 'slowed down, times', color: 'orange', values: pace.multiplier },
      { label: 'refused so far', color: 'red', isSecond: true, values: pace.refusals },
    ];
    return { times: pace.times, rate: rateLines, multiplier: multiplierLines };
  }, [samples]);
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Chart label="Items and calls a second, over time." times={times} lines={rate} />
      <Chart label="By how much refusals slow it down, over time." times={times} lines={multiplier} />
    </SimpleGrid>
  );
}
