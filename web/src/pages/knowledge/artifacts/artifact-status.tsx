// Processing status of an artifact: steps, missing chunks and their causes.
import type { Artifact } from '../../../../../src/api/artifacts.ts';
import { Alert, Anchor, List, Stack, Text } from '@mantine/core';
import { Link } from 'wouter';
import { StateBadge } from '../../../parts/state-badge.tsx';
import { DataTable, Detail, type Column } from '../../../parts/table.tsx';
import { toneColor } from '../../../theme.ts';
import { counted } from '../../../parts/format.ts';
import { rangesText, stateTones, stepLabels } from '../labels.ts';

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
export function ArtifactState({
  status,
}: {
  readonly status: Pick<Status, 'state' | 'read_by_rules' | 'model_fallbacks'>;
}) {
  const { state, read_by_rules: byRules, model_fallbacks: fallbacks } = status;
  const tone = state === 'complete' && fallbacks.length > 0 ? 'warning' : stateTones[state];
  return (
    <>
      <StateBadge tone={tone}>{stateLabels[state]}</StateBadge>
      {state === 'complete' && byRules > 0 ? <Detail>extracted by rules</Detail> : null}
    </>
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
  const columns: readonly Column<Step>[] = [
    {
      title: 'Step',
      cell: (step) => (
        <>
          {stepLabels[step]}
          {step === 'read' && status.read_by_rules > 0 ? (
            <Detail>{status.read_by_rules} by rules</Detail>
          ) : null}
        </>
      ),
    },
    {
      title: 'Done',
      kind: 'number',
      cell: (step) => (isConfigured(status.steps[step]) ? status.steps[step].done : 'not configured'),
    },
    {
      title: 'Missing',
      kind: 'number',
      cell: (step) => {
        const { failed, skipped, pending } = status.steps[step];
        return failed + skipped + pending || '–';
      },
    },
  ];
  return (
    <Stack gap="xs">
      <DataTable label="Steps" columns={columns} rows={steps} keyOf={(step) => step} />
      {status.read_by_rules === 0 ? null : <ByRules status={status} />}
      {status.missing.length === 0 ? null : <Missing missing={status.missing} />}
    </Stack>
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
