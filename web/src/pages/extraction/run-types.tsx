// Progress and status of each type of a run.
import type { ExtractionRun } from '../../../../src/api/extraction.ts';
import { Badge, Group, Progress, SimpleGrid, Text, Title } from '@mantine/core';
import { toneColor, type Tone } from '../../theme.ts';
import { useVault } from './dead-letters.tsx';
import { percentOf } from './run-facts.ts';

type Type = ExtractionRun['types'][number];

const tones: Readonly<Record<Type['status'], Tone>> = {
  pending: 'idle',
  running: 'busy',
  completed: 'good',
  incomplete: 'warning',
};

export function RunTypes({ run }: { readonly run: ExtractionRun }) {
  const vault = useVault(run.id);
  const reasons = new Map(vault.data?.types.map(({ type, reason }) => [type, reason]));
  if (run.types.length === 0) return <Text c="dimmed">No type has started yet.</Text>;
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Types
      </Title>
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} spacing="lg" verticalSpacing="sm">
        {run.types.map((type) => (
          <TypeProgress
            key={type.type}
            type={type}
            reason={type.status === 'incomplete' ? (reasons.get(type.type) ?? null) : null}
          />
        ))}
      </SimpleGrid>
    </section>
  );
}

function TypeProgress({ type, reason }: { readonly type: Type; readonly reason: string | null }) {
  const color = toneColor[tones[type.status]];
  return (
    <div>
      <Group justify="space-between" gap="xs" wrap="nowrap" mb={4}>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {type.type}
        </Text>
        <Group gap="xs" wrap="nowrap">
          <Text size="sm">
            {type.items}
            {type.total === null ? '' : ` of ${type.total}`}
          </Text>
          <Badge variant="light" tt="none" color={color} miw={92}>
            {type.status}
          </Badge>
        </Group>
      </Group>
      <Progress
        value={type.status === 'completed' ? 100 : percentOf(type.items, type.total)}
        color={color}
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
