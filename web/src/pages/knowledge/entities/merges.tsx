// Merges into an entity, each with an undo button.
import type { EntityDetail, EntityMerge } from '../../../../../src/api/entities.ts';
import { Button, Group, Stack, Text } from '@mantine/core';
import { useAction } from '../../../components/action.tsx';
import { Ago } from '../../../components/time.tsx';
import { inSpace } from '../queries.ts';
import { useSpaceRef } from '../space-ref.ts';

export function Merges({ entity }: { readonly entity: EntityDetail }) {
  if (entity.merges.length === 0)
    return (
      <Text size="sm" c="dimmed" mb="xs">
        No merges.
      </Text>
    );
  return (
    <Stack gap="xs" mb="sm">
      {entity.merges.map((merge) => (
        <MergeRow key={merge.id} merge={merge} />
      ))}
    </Stack>
  );
}

function MergeRow({ merge }: { readonly merge: EntityMerge }) {
  const spaceRef = useSpaceRef();
  const undoing = useAction(
    () => inSpace(spaceRef, 'POST /api/v1/knowledge/merges/:id/undo', { params: { id: merge.id } }),
    {
      stale: ['knowledge'],
      done: () => 'Merge undone.',
    },
  );
  const isUndone = merge.undone_at !== null;
  return (
    <Group justify="space-between" gap="xs" wrap="nowrap" align="flex-start">
      <Text size="sm" style={{ overflowWrap: 'anywhere' }} c={isUndone ? 'dimmed' : undefined}>
        {isUndone ? 'Undone: ' : ''}
        {merge.reason}
        <Text span size="xs" c="dimmed">
          {' '}
          …{merge.loser_id.slice(-5)} into …{merge.winner_id.slice(-5)}, <Ago at={merge.merged_at} />, by{' '}
          {merge.decided_by}
        </Text>
      </Text>
      {isUndone ? null : (
        <Button
          size="compact-sm"
          variant="default"
          loading={undoing.isRunning}
          onClick={() => undoing.run(undefined)}
          style={{ flexShrink: 0 }}
        >
          Undo merge
        </Button>
      )}
    </Group>
  );
}
