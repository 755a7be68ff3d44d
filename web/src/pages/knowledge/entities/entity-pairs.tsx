// Possible duplicates of an entity, with their review state.
import type { EntityDetail, EntityPair } from '../../../../../src/api/entities.ts';
import { Anchor, List, Text } from '@mantine/core';
import { Link } from 'wouter';
import { useAddress } from '../space-ref.ts';
import { likelyText } from '../labels.ts';
import { EntityNameLink } from './entity-name-link.tsx';

const stateLabels: Readonly<Record<EntityPair['state'], string>> = {
  open: 'not reviewed',
  later: 'postponed',
  same: 'same',
  different: 'different',
};

export function EntityPairs({ entity }: { readonly entity: EntityDetail }) {
  const address = useAddress();
  // Both sides of a merged pair are this entity.
  const pairs = entity.pairs.filter(({ state }) => state !== 'same');
  if (pairs.length === 0)
    return (
      <Text size="sm" c="dimmed">
        No possible duplicates.
      </Text>
    );
  return (
    <>
      <List size="sm" spacing={4}>
        {pairs.map((pair) => (
          <List.Item key={pair.id}>
            <EntityNameLink id={pair.entity_a === entity.id ? pair.entity_b : pair.entity_a} />, match score{' '}
            {likelyText(pair.confidence)}
            <Text span size="xs" c="dimmed">
              {' '}
              {stateLabels[pair.state]}
              {pair.state === 'open' || pair.decided_by === null ? '' : ` (by ${pair.decided_by})`}
            </Text>
          </List.Item>
        ))}
      </List>
      {pairs.some(({ state }) => state === 'open' || state === 'later') ? (
        <Anchor component={Link} href={address('/review')} size="sm">
          Open review queue
        </Anchor>
      ) : null}
    </>
  );
}
