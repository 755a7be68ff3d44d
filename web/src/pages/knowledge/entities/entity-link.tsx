// Link to an entity.
import { Anchor, Text } from '@mantine/core';
import { Link } from 'wouter';
import { useAddress } from '../space-ref.ts';
import type { EntityType } from '../labels.ts';
import { entityTypeLabels } from '../labels.ts';

export function EntityLink({
  id,
  name,
  type,
}: {
  readonly id: string;
  readonly name: string;
  readonly type?: EntityType;
}) {
  const address = useAddress();
  return (
    <>
      <Anchor component={Link} href={address(`/entities/${id}`)} inherit style={{ overflowWrap: 'anywhere' }}>
        {name}
      </Anchor>
      {type === undefined ? null : (
        <Text span c="dimmed" size="xs">
          {' '}
          {entityTypeLabels[type] ?? type}
        </Text>
      )}
    </>
  );
}
