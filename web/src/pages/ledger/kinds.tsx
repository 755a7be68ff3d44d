// Kinds of entries: count, repair, and a button that starts it.
import type { LedgerKinds } from '../../../../src/api/ledger.ts';
import { Button, Card, Group, SimpleGrid, Stack, Text, UnstyledButton } from '@mantine/core';
import { api } from '../../api/client.ts';
import { useAction } from '../../components/action.tsx';
import { counted, numberText } from '../../components/format.ts';
import { StateBadge } from '../../components/state-badge.tsx';
import { requestedRepairs } from './requested-repairs.ts';

type Kind = LedgerKinds['kinds'][number];

export interface KindsProps {
  readonly kinds: readonly Kind[];
  readonly state: 'open' | 'resolved';
  readonly chosen: string | null;
  readonly onChoose: (kind: string | null) => void;
}

/** Starts the repair of one entry, one kind, or everything. */
export function useRepair() {
  return useAction(
    async (what: { readonly kind?: string; readonly id?: string }) => {
      const requested = await api('POST /api/v1/ledger/repair', { body: what });
      if (requested.job_id !== null) requestedRepairs.add(requested.job_id);
      return requested;
    },
    {
      stale: ['ledger', 'jobs'],
      done: ({ job_id: job }) =>
        job === null
          ? 'The same repair is already running.'
          : 'Repair queued. Progress is shown above the table.',
    },
  );
}

export function Kinds({ kinds, state, chosen, onChoose }: KindsProps) {
  const repair = useRepair();
  const shown = kinds.filter((kind) => kind[state] > 0 || kind.kind === chosen);
  const open = kinds.reduce((sum, kind) => sum + kind.open, 0);
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Text role="status">
          {open === 0 ? 'No open entries' : counted(open, 'open entry', 'open entries')}
        </Text>
        {open > 0 ? (
          <Button size="xs" loading={repair.isRunning} onClick={() => repair.run({})}>
            Repair all entries
          </Button>
        ) : null}
      </Group>
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} spacing="sm">
        {shown.map((kind) => (
          <KindCard
            key={kind.kind}
            kind={kind}
            state={state}
            isChosen={kind.kind === chosen}
            onChoose={() => onChoose(kind.kind === chosen ? null : kind.kind)}
            repair={repair}
          />
        ))}
      </SimpleGrid>
    </Stack>
  );
}

function KindCard({
  kind,
  state,
  isChosen,
  onChoose,
  repair,
}: {
  readonly kind: Kind;
  readonly state: 'open' | 'resolved';
  readonly isChosen: boolean;
  readonly onChoose: () => void;
  readonly repair: ReturnType<typeof useRepair>;
}) {
  return (
    <Card withBorder padding="sm" bg={isChosen ? 'var(--mantine-color-blue-light)' : undefined}>
      <UnstyledButton onClick={onChoose} aria-pressed={isChosen}>
        <Group justify="space-between" wrap="nowrap" align="flex-start">
          <Text fw={600} size="sm" style={{ overflowWrap: 'anywhere' }}>
            {kind.kind}
          </Text>
          <StateBadge tone={state === 'open' ? 'warning' : 'good'}>{numberText(kind[state])}</StateBadge>
        </Group>
      </UnstyledButton>
      <Text size="xs" c="dimmed" mt={4}>
        {kind.repair ?? 'No automatic repair. Resolve it manually.'}
      </Text>
      {state === 'open' && kind.open > 0 && kind.repair !== null ? (
        <Button
          mt="xs"
          size="compact-xs"
          variant="default"
          w="fit-content"
          loading={repair.isRunning}
          onClick={() => repair.run({ kind: kind.kind })}
          aria-label={`Repair entries of ${kind.kind}`}
        >
          Repair entries
        </Button>
      ) : null}
    </Card>
  );
}
