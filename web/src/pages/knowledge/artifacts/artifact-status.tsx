// Which parts of an artifact are in, and which are missing and why.
import { Alert, Badge, List, Stack, Table, Text } from '@mantine/core';
import type { ArtifactAnswer } from '../../../../../src/http/contract.ts';
import { toneColor } from '../../../theme.ts';
import { counted, rangesText, stateTones, stepWords } from '../words.ts';

type Status = ArtifactAnswer['status'];
type Step = keyof Status['steps'];

const steps = ['index', 'read', 'embed', 'graph'] as const satisfies readonly Step[];
const stateWords: Readonly<Record<Status['state'], string>> = {
  complete: 'complete',
  processing: 'being read',
  partial: 'partly in',
};

export function StateBadge({ state }: { readonly state: Status['state'] }) {
  return (
    <Badge color={toneColor[stateTones[state]]} variant="dot" tt="none" miw="max-content">
      {stateWords[state]}
    </Badge>
  );
}

/** Steps that are not configured count nothing, and are not missing. */
const isConfigured = ({ done, failed, skipped, pending }: Status['steps'][Step]): boolean =>
  done + failed + skipped + pending > 0;

/** `searchable, read (3 of 4)`. */
export function stepsText(status: Status): string {
  return steps
    .filter((step) => isConfigured(status.steps[step]))
    .map((step) => {
      const { done } = status.steps[step];
      return done === status.chunks ? stepWords[step] : `${stepWords[step]} (${done} of ${status.chunks})`;
    })
    .join(', ');
}

export function ArtifactStatus({ status }: { readonly status: Status }) {
  return (
    <Stack gap="xs">
      <Table verticalSpacing={4} horizontalSpacing={4} aria-label="Steps">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Step</Table.Th>
            <Table.Th ta="right">Done</Table.Th>
            <Table.Th ta="right">Missing</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {steps.map((step) => (
            <StepRow key={step} step={step} status={status} />
          ))}
        </Table.Tbody>
      </Table>
      {status.missing.length === 0 ? null : <Missing missing={status.missing} />}
    </Stack>
  );
}

function StepRow({ step, status }: { readonly step: Step; readonly status: Status }) {
  const counts = status.steps[step];
  const missing = counts.failed + counts.skipped + counts.pending;
  return (
    <Table.Tr>
      <Table.Td>
        {stepWords[step]}
        {step === 'read' && status.read_by_rules > 0 ? (
          <Text span size="xs" c="dimmed">
            {' '}
            ({status.read_by_rules} by rules)
          </Text>
        ) : null}
      </Table.Td>
      {isConfigured(counts) ? (
        <>
          <Table.Td ta="right">{counts.done}</Table.Td>
          <Table.Td ta="right">{missing === 0 ? '–' : missing}</Table.Td>
        </>
      ) : (
        <Table.Td colSpan={2} ta="right" c="dimmed">
          not configured
        </Table.Td>
      )}
    </Table.Tr>
  );
}

const missingWords = {
  failed: 'failed',
  skipped: 'left out for now',
  pending: 'waits',
  done: 'done otherwise',
} as const;

function Missing({ missing }: { readonly missing: Status['missing'] }) {
  const isOnlyWaiting = missing.every(({ status }) => status === 'pending');
  return (
    <Alert color={toneColor[isOnlyWaiting ? 'busy' : 'warning']} p="xs" title="What is missing, and why">
      <List size="sm" spacing={4}>
        {missing.map(({ step, positions, status, cause, message }) => (
          <List.Item
            key={`${step} ${status} ${cause} ${positions.join()}`}
            style={{ overflowWrap: 'anywhere' }}
          >
            Not {stepWords[step]}: {counted(positions.length, 'chunk')} ({rangesText(positions)}),{' '}
            {missingWords[status]}
            {message === null ? '' : `: ${message}`}
            {cause === null ? null : (
              <Text span size="xs" c="dimmed">
                {' '}
                {cause}
              </Text>
            )}
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}
