// Repairs that wait, run, or ended just now, with their progress.
import { Card, Group, Progress, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { JobAnswer, JobsAnswer } from '../../../../src/http/contract.ts';
import { get } from '../../api/client.ts';
import { toneColor } from '../../theme.ts';
import { useNow } from '../../parts/time.tsx';
import { askedRepairs } from './asked-repairs.ts';
import { repairOutcome, repairSubject, repairTone } from './repair-words.ts';

/** How long a repair that ended is still shown. */
const stayMs = 60_000;
const mostShown = 5;

export function LastRepairs() {
  const now = useNow();
  const { data } = useQuery({
    queryKey: ['jobs', 'ledger.repair'],
    queryFn: ({ signal }) => get<JobsAnswer>('/api/v1/jobs', { name: 'ledger.repair', limit: 50 }, signal),
    refetchInterval: 2_000,
  });
  const shown = (data?.jobs ?? [])
    .filter(({ finished_at: ended }) => ended === null || now - Date.parse(ended) < stayMs)
    // The server itself looks every minute whether there is something to repair; mostly there is not.
    .filter(({ id, state }) => state !== 'skipped' || askedRepairs.has(id))
    .slice(0, mostShown);
  if (shown.length === 0) return null;
  return (
    <Stack gap="xs" aria-live="polite">
      {shown.map((job) => (
        <RepairCard key={job.id} job={job} />
      ))}
    </Stack>
  );
}

function RepairCard({ job }: { readonly job: JobAnswer }) {
  const what = repairSubject(job.payload);
  const { done = 0, total = null, message = null } = job.progress ?? {};
  const percent = job.state === 'done' ? 100 : total ? (done / total) * 100 : 0;
  return (
    <Card withBorder padding="sm">
      <Group justify="space-between">
        <Text size="sm">
          Repair of {what} {repairOutcome(job)}
        </Text>
        <Text size="sm" c="dimmed">
          {total === null ? '' : `${done} of ${total}`} {message ?? ''}
        </Text>
      </Group>
      {job.state === 'skipped' ? null : (
        <Progress
          mt="xs"
          value={percent}
          animated={job.state === 'running'}
          color={toneColor[repairTone(job)]}
          aria-label={`Progress of the repair of ${what}`}
        />
      )}
    </Card>
  );
}
