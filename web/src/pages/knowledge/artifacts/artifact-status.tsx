// Processing status of an artifact: steps, missing chunks and their causes.
import type { Artifact } from '../../../../../src/api/artifacts.ts';
import { Alert, Anchor, Badge, List, Stack, Table, Text } from '@mantine/core';
import { Link } from 'wouter';
import { toneColor } from '../../../theme.ts';
import { counted, rangesText, stateTones, stepLabels } from '../labels.ts';

type Status = Artifact['status'];
type Step = keyof Status['steps'];

/** Kind of the ledger entry. */
const readByRulesKind = 'knowledge.chunk-read-by-rules';

const steps = ['index', 'read', 'embed', 'graph'] as const satisfies readonly Step[];
const stateLabels: Readonly<Record<Status['state'], string>> = {
  complete: 'completed',
  processing: 'running',
  partial: 'degraded',
};

/** A completed artifact is marked when rules replaced a failed model: a repair adds the rest. */
export function StateBadge({
  status,
}: {
  readonly status: Pick<Status, 'state' | 'read_by_rules' | 'model_fallbacks'>;
}) {
  const { state, read_by_rules: byRules, model_fallbacks: fallbacks } = status;
  const tone = state === 'complete' && fallbacks.length > 0 ? 'warning' : stateTones[state];
  return (
    <Badge color={toneColor[tone]} variant="dot" tt="none" miw="max-content">
      {stateLabels[state]}
      {state === 'complete' && byRules > 0 ? ', extracted by rules' : ''}
    </Badge>
  );
}

/** A step that is not configured has no counts and is not missing. */
const isConfigured = ({ done, failed, skipped, pending }: Status['steps'][Step]): boolean =>
  done + failed + skipped + pending > 0;

/** `indexed, extracted (3 of 4, 2 by rules)`. */
export function stepsText(status: Status): string {
  return steps
    .filter((step) => isConfigured(status.steps[step]))
    .map((step) => {
      const { done } = status.steps[step];
      const how = [
        ...(done === status.chunks ? [] : [`${done} of ${status.chunks}`]),
        ...(step === 'read' && status.read_by_rules > 0 ? [`${status.read_by_rules} by rules`] : []),
      ];
      return how.length === 0 ? stepLabels[step] : `${stepLabels[step]} (${how.join(', ')})`;
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
        {stepLabels[step]}
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

/** Why rules were used, and how to extract with a model. */
function ByRules({
  status: { read_by_rules: byRules, model_fallbacks: fallbacks },
}: {
  readonly status: Status;
}) {
  if (fallbacks.length === 0)
    return (
      <Text size="xs" c="dimmed">
        Extracted by rules: {counted(byRules, 'chunk')}, because no model is configured. A model finds more
        names and events, with higher confidence.
      </Text>
    );
  return (
    <Alert color={toneColor.warning} p="xs" title="Extracted by rules instead of a model">
      <Text size="sm">
        No model was available for these chunks. They are extracted again with a model when one is available,
        or when you repair them{' '}
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
        {fallbacks.map(({ cause, positions }) => (
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

const missingLabels = {
  failed: 'failed',
  skipped: 'skipped',
  pending: 'queued',
  done: 'completed',
} as const;

function Missing({ missing }: { readonly missing: Status['missing'] }) {
  const isOnlyWaiting = missing.every(({ status }) => status === 'pending');
  return (
    <Alert color={toneColor[isOnlyWaiting ? 'busy' : 'warning']} p="xs" title="Missing chunks">
      <List size="sm" spacing={4}>
        {missing.map(({ step, positions, status, cause, message }) => (
          <List.Item
            key={`${step} ${status} ${cause} ${positions.join()}`}
            style={{ overflowWrap: 'anywhere' }}
          >
            Not {stepLabels[step]}: {counted(positions.length, 'chunk')} ({rangesText(positions)}),{' '}
            {missingLabels[status]}
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
