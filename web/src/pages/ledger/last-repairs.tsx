// Repairs that wait, run, or ended just now, with their progress.
import { Card, Group, Progress, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { JobAnswer, JobsAnswer } from '../../../../src/http/contract.ts';
import { get } from '../../api/client.ts';
import { useNow } from '../../parts/time.tsx';

/** How long a repair that ended is still shown. */
const stayMs = 60_000;

export function LastRepairs() {
  const now = useNow();
  const { data } = useQuery({
    queryKey: ['jobs', 'ledger.repair'],
    queryFn: ({ signal }) => get<JobsAnswer>('/api/v1/jobs', { name: 'ledger.repair', limit: 5 }, signal),
    refetchInterval: 2_000,
  });
  const shown = (data?.jobs ?? []).filter(
    ({ finished_at: ended }) => ended === null || now - Date.parse(ended) < stayMs,
  );
  if (shown.length === 0) return null;
  return (
    <Stack gap="xs" aria-live="polite">
      {shown.map((job) => (
        <RepairCard key={job.id} job={job} />
      ))}
    </Stack>
  );
}

const words: Readonly<Record<JobAnswer['state'], string>> = {
  pending: 'waits for its turn',
  running: 'runs',
  done: 'is done',
  failed: 'failed',
  skipped: 'had nothing to do',
};

function RepairCard({ job }: { readonly job: JobAnswer }) {
  const { kind, id } = (job.payload ?? {}) as { readonly kind?: string; readonly id?: string };
  const what = kind === undefined ? (id === undefined ? 'everything' : 'one row') : kind;
  const { done = 0, total = null, message = null } = job.progress ?? {};
  const percent = job.state === 'done' ? 100 : total ? (done / total) * 100 : 0;
  return (
    <Card withBorder padding="sm">
      <Group justify="space-between">
        <Text size="sm">
          Repair of {what} {words[job.state]}
          {job.reason === null ? '' : `: ${job.reason}`}
        </Text>
        <Text size="sm" c="dimmed">
          {total === null ? '' : `${done} of ${total}`} {message ?? ''}
        </Text>
      </Group>
      <Progress
        mt="xs"
        value={percent}
        animated={job.state === 'running'}
        color={job.state === 'failed' ? 'red' : 'teal'}
        aria-label={`Progress of the repair of ${what}`}
      />
    </Card>
  );
}
