// Processing status of an artifact: steps, missing chunks and their causes.
import type { Artifact } from '../../../../../src/api/artifacts.ts';
import { Alert, Anchor, List, Stack, Text } from '@mantine/core';
import { Link } from 'wouter';
import { StateBadge } from '../../../components/state-badge.tsx';
import { DataTable, Detail, type Column } from '../../../components/table.tsx';
import { toneColor } from '../../../theme.ts';
import { counted, plural } from '../../../components/format.ts';
import { rangesText, stateTones, stepLabels } from '../labels.ts';

type Status = Artifact['status'];
type Step = keyof Status['steps'];

/** Kind of the ledger entry. */
const readByRulesKind = 'knowledge.chunk-read-by-rules';

const steps = ['index', 'read', 'embed', 'graph'] as const satisfies readonly Step[];

/** A completed artifact is marked when rules replaced a failed model: a repair adds the rest. */
export function ArtifactState({
  status,
}: {
  readonly status: Pick<Status, 'state' | 'read_by_rules' | 'model_fallbacks'>;
}) {
  const { state, read_by_rules: byRules, model_fallbacks: fallbacks } = status;
  const tone = state === 'completed' && fallbacks.length > 0 ? 'warning' : stateTones[state];
  return (
    <>
      <StateBadge tone={tone}>{state}</StateBadge>
      {state === 'completed' && byRules > 0 ? <Detail>read by rules</Detail> : null}
    </>
  );
}

/** A step that is not configured has no counts and is not missing. */
const isConfigured = ({ completed, failed, skipped, queued }: Status['steps'][Step]): boolean =>
  completed + failed + skipped + queued > 0;

/** `indexed, read (3 of 4, 2 by rules)`. */
export function stepsText(status: Status): string {
  return steps
    .filter((step) => isConfigured(status.steps[step]))
    .map((step) => {
      const { completed } = status.steps[step];
      const how = [
        ...(completed === status.chunks ? [] : [`${completed} of ${status.chunks}`]),
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
      title: 'Completed',
      kind: 'number',
      cell: (step) => (isConfigured(status.steps[step]) ? status.steps[step].completed : 'not configured'),
    },
    {
      title: 'Missing',
      kind: 'number',
      cell: (step) => {
        const { failed, skipped, queued } = status.steps[step];
        return failed + skipped + queued || '–';
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

/** `chunk 3`, `chunks 0–4, 7`. */
const chunksText = (positions: readonly number[]): string =>
  `${plural(positions.length, 'chunk')} ${rangesText(positions)}`;

/** Why rules were used, and how to extract with a model. */
function ByRules({
  status: { read_by_rules: byRules, model_fallbacks: fallbacks },
}: {
  readonly status: Status;
}) {
  if (fallbacks.length === 0)
    return (
      <Text size="xs" c="dimmed">
        Read by rules: {counted(byRules, 'chunk')}, because no model is configured. A model finds more names
        and events, with higher confidence.
      </Text>
    );
  return (
    <Alert color={toneColor.warning} p="xs" title="Read by rules instead of a model">
      <Text size="sm">
        The model call failed for these chunks. They are read again with a model when one is available, or
        when you repair them{' '}
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
            {chunksText(positions)}
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

function Missing({ missing }: { readonly missing: Status['missing'] }) {
  const isOnlyQueued = missing.every(({ state }) => state === 'queued');
  return (
    <Alert color={toneColor[isOnlyQueued ? 'busy' : 'warning']} p="xs" title="Missing chunks">
      <List size="sm" spacing={4}>
        {missing.map(({ step, positions, state, cause, message }) => (
          <List.Item
            key={`${step} ${state} ${cause} ${positions.join()}`}
            style={{ overflowWrap: 'anywhere' }}
          >
            Not {stepLabels[step]}: {chunksText(positions)}, {state}
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
