// Queued, running and recently finished repairs with their progress.
import type { Job } from '../../../../src/api/jobs.ts';
import { Card, Group, Progress, Stack, Text } from '@mantine/core';
import { toneColor } from '../../theme.ts';
import { useNow } from '../../components/time.tsx';
import { requestedRepairs } from './requested-repairs.ts';
import { rankOf, repairOutcome, repairSubject, repairTone } from './repair-labels.ts';
import { useRepairs } from './use-repairs.ts';

/** How long a finished repair stays visible. */
const visibleMs = 60_000;
const maxShown = 5;

export function LastRepairs() {
  const now = useNow();
  const shown = useRepairs()
    .filter(({ finished_at: ended }) => ended === null || now - Date.parse(ended) < visibleMs)
    // The server checks every minute for due repairs; mostly there are none.
    .filter(({ id, state }) => state !== 'skipped' || requestedRepairs.has(id))
    .toSorted((a, b) => rankOf(a) - rankOf(b))
    .slice(0, maxShown);
  if (shown.length === 0) return null;
  return (
    <Stack gap="xs" aria-live="polite">
      {shown.map((job) => (
        <RepairCard key={job.id} job={job} />
      ))}
    </Stack>
  );
}

function RepairCard({ job }: { readonly job: Job }) {
  const what = repairSubject(job.payload);
  const { done = 0, total = null, message = null } = job.progress ?? {};
  const isRunning = job.state === 'running';
  const isEndKnown = total !== null || !isRunning;
  const percent = job.state === 'completed' ? 100 : total ? (done / total) * 100 : 0;
  return (
    <Card withBorder padding="sm">
      <Group justify="space-between">
        <Text size="sm">
          Repair of {what} {repairOutcome(job)}
        </Text>
        <Text size="sm" c="dimmed">
          {isRunning && total === null && done > 0 ? `${done} so far` : ''}
          {total === null ? '' : `${done} of ${total}`} {message ?? ''}
        </Text>
      </Group>
      {job.state === 'skipped' ? null : (
        <Progress
          mt="xs"
          value={isEndKnown ? percent : 100}
          animated={isRunning}
          color={toneColor[repairTone(job)]}
          aria-label={`Repair progress of ${what}`}
        />
      )}
    </Card>
  );
}
