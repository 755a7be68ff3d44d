// Progress and state of each type of a run.
import type { ExtractionRun } from '../../../../src/api/extraction.ts';
import { Group, Progress, SimpleGrid, Text } from '@mantine/core';
import { numberText } from '../../components/format.ts';
import { StateBadge } from '../../components/state-badge.tsx';
import { Empty, Section } from '../../components/states.tsx';
import { toneColor, type Tone } from '../../theme.ts';
import { useVault } from './dead-letters.tsx';
import { percentOf } from './run-facts.ts';

type Type = ExtractionRun['types'][number];

const tones: Readonly<Record<Type['state'], Tone>> = {
  queued: 'idle',
  running: 'busy',
  completed: 'good',
  incomplete: 'warning',
};

export function RunTypes({ run }: { readonly run: ExtractionRun }) {
  const vault = useVault(run.id);
  const reasons = new Map(vault.data?.types.map(({ type, reason }) => [type, reason]));
  if (run.types.length === 0)
    return <Empty title="No types yet">Types appear when the run starts to extract them.</Empty>;
  return (
    <Section title="Types">
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} spacing="lg" verticalSpacing="sm">
        {run.types.map((type) => (
          <TypeProgress
            key={type.type}
            type={type}
            reason={type.state === 'incomplete' ? (reasons.get(type.type) ?? null) : null}
          />
        ))}
      </SimpleGrid>
    </Section>
  );
}

function TypeProgress({ type, reason }: { readonly type: Type; readonly reason: string | null }) {
  const tone = tones[type.state];
  return (
    <div>
      <Group justify="space-between" gap="xs" wrap="nowrap" mb={4}>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {type.type}
        </Text>
        <Group gap="xs" wrap="nowrap">
          <Text size="sm">
            {numberText(type.items)}
            {type.total === null ? '' : ` of ${numberText(type.total)}`}
          </Text>
          <StateBadge tone={tone}>{type.state}</StateBadge>
        </Group>
      </Group>
      <Progress
        value={type.state === 'completed' ? 100 : percentOf(type.items, type.total)}
        color={toneColor[tone]}
        size="sm"
        aria-label={`Progress of ${type.type}`}
      />
      {reason === null ? null : (
        <Text size="xs" c="dimmed" mt={2}>
          {reason}
        </Text>
      )}
    </div>
  );
}
