// One run: types, throughput, failed pages.
import type { ExtractionRun } from '../../../../src/api/extraction.ts';
import { Alert, Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { api } from '../../api/client.ts';
import { useAction } from '../../components/action.tsx';
import { numberText, rateText } from '../../components/format.ts';
import { StateBadge } from '../../components/state-badge.tsx';
import { PageTitle, Shown } from '../../components/states.tsx';
import { Ago, Took } from '../../components/time.tsx';
import { DeadLetters } from './dead-letters.tsx';
import { Throughput } from './throughput.tsx';
import { isOpen, itemsOf, originLabels, runTone, totalOf } from './run-facts.ts';
import { RunTypes } from './run-types.tsx';

export function RunDetail({ id }: { readonly id: string }) {
  const query = useQuery({
    queryKey: ['extraction', 'run', id],
    queryFn: ({ signal }) => api('GET /api/v1/extraction/runs/:id', { params: { id }, signal }),
    refetchInterval: 5_000,
  });
  return (
    <>
      <Anchor component={Link} href="/extraction" size="sm">
        All runs
      </Anchor>
      <Shown what="the run" title="Run" query={query}>
        {(run) => <Run run={run} />}
      </Shown>
    </>
  );
}

function Run({ run }: { readonly run: ExtractionRun }) {
  const stop = useAction(() => api('POST /api/v1/extraction/runs/:id/stop', { params: { id: run.id } }), {
    stale: ['extraction'],
    done: () => 'Stopping the run. Extracted items are kept.',
  });
  return (
    <Stack gap="lg">
      <div>
        <PageTitle
          right={
            <Group gap="xs">
              <Button size="xs" variant="default" component={Link} href={`/extraction/runs/${run.id}/vault`}>
                Open vault
              </Button>
              {isOpen(run) ? (
                <Button size="xs" color="red" loading={stop.isRunning} onClick={() => stop.run(undefined)}>
                  Stop run
                </Button>
              ) : null}
            </Group>
          }
        >
          {run.source}
        </PageTitle>
        <Facts run={run} />
      </div>
      {run.message === null ? null : (
        <Alert color={run.state === 'failed' ? 'red' : 'gray'} p="xs">
          {run.message}
        </Alert>
      )}
      <RunTypes run={run} />
      <Throughput run={run} />
      <DeadLetters run={run} />
    </Stack>
  );
}

function Facts({ run }: { readonly run: ExtractionRun }) {
  const total = totalOf(run);
  return (
    <Group style={{ gap: '4px 20px' }}>
      <StateBadge tone={runTone[run.state]}>{run.state}</StateBadge>
      <Text size="sm">
        {numberText(itemsOf(run))}
        {total === null ? '' : ` of ${numberText(total)}`} items
      </Text>
      {run.items_per_second === null ? null : <Text size="sm">{rateText(run.items_per_second)}</Text>}
      <Text size="sm">
        {numberText(run.calls)} calls, {numberText(run.rate_limited_calls)} rate-limited
      </Text>
      {run.multiplier > 1 ? (
        <Text size="sm">
          backoff ×{run.multiplier.toFixed(1)}
          {isOpen(run) ? '' : ' at end'}
        </Text>
      ) : null}
      <Text size="sm" c="dimmed">
        {originLabels[run.origin]}, started <Ago at={run.started_at} />
        {run.finished_at === null ? null : (
          <>
            , took <Took from={run.started_at} to={run.finished_at} />
          </>
        )}
      </Text>
    </Group>
  );
}
