// Which parts of an artifact are in, and which are missing and why.
import { Alert, Anchor, Badge, List, Stack, Table, Text } from '@mantine/core';
import { Link } from 'wouter';
import type { ArtifactAnswer } from '../../../../../src/http/contract.ts';
import { toneColor } from '../../../theme.ts';
import { counted, rangesText, stateTones, stepWords } from '../words.ts';

type Status = ArtifactAnswer['status'];
type Step = keyof Status['steps'];

/** The ledger's word for it. */
const readByRulesKind = 'knowledge.chunk-read-by-rules';

const steps = ['index', 'read', 'embed', 'graph'] as const satisfies readonly Step[];
const stateWords: Readonly<Record<Status['state'], string>> = {
  complete: 'complete',
  processing: 'being read',
  partial: 'partly in',
};

/** Complete is less where rules read: where they stood in for a model that failed, a repair adds the rest. */
export function StateBadge({
  status,
}: {
  readonly status: Pick<Status, 'state' | 'read_by_rules' | 'stood_in'>;
}) {
  const { state, read_by_rules: byRules, stood_in: standIns } = status;
  const tone = state === 'complete' && standIns.length > 0 ? 'warning' : stateTones[state];
  return (
    <Badge color={toneColor[tone]} variant="dot" tt="none" miw="max-content">
      {stateWords[state]}
      {state === 'complete' && byRules > 0 ? ', read by rules' : ''}
    </Badge>
  );
}

/** Steps that are not configured count nothing, and are not missing. */
const isConfigured = ({ done, failed, skipped, pending }: Status['steps'][Step]): boolean =>
  done + failed + skipped + pending > 0;

/** `searchable, read (3 of 4, 2 by rules)`. */
export function stepsText(status: Status): string {
  return steps
    .filter((step) => isConfigured(status.steps[step]))
    .map((step) => {
      const { done } = status.steps[step];
      const how = [
        ...(done === status.chunks ? [] : [`${done} of ${status.chunks}`]),
        ...(step === 'read' && status.read_by_rules > 0 ? [`${status.read_by_rules} by rules`] : []),
      ];
      return how.length === 0 ? stepWords[step] : `${stepWords[step]} (${how.join(', ')})`;
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
      {status.read_by_rules === 0 ? null : <ByRules status={status} />}
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

/** What a model would still add, and what brings it. */
function ByRules({ status: { read_by_rules: byRules, stood_in: standIns } }: { readonly status: Status }) {
  if (standIns.length === 0)
    return (
      <Text size="xs" c="dimmed">
        Rules read {counted(byRules, 'chunk')}: no model was there to ask. One would find more names and
        events, with more confidence.
      </Text>
    );
  return (
    <Alert color={toneColor.warning} p="xs" title="What a model would still add">
      <Text size="sm">
        More names and events, with more confidence: no model could read these, so rules did. A model reads
        them when one answers again, or when you repair them{' '}
        <Anchor
          component={Link}
          href={`/ledger?kind=${readByRulesKind}`}
          inherit
          c="inherit"
          underline="always"
        >
          in the ledger
        </Anchor>
        .
      </Text>
      <List size="sm">
        {standIns.map(({ cause, positions }) => (
          <List.Item key={cause}>
            {counted(positions.length, 'chunk')} ({rangesText(positions)})
            <Text span size="xs" c="dimmed">
              {' '}
              {cause}
            </Text>
          </List.Item>
        ))}
      </List>
    </Alert>
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
