// Who an entity may be the same as, and what was said about it.
import { Anchor, List, Text } from '@mantine/core';
import { Link } from 'wouter';
import type { EntityDetailAnswer, EntityPairAnswer } from '../../../../../src/http/contract.ts';
import { useAddress } from '../place.ts';
import { likelyText } from '../words.ts';
import { EntityName } from './entity-name.tsx';

const stateWords: Readonly<Record<EntityPairAnswer['state'], string>> = {
  open: 'waits for an answer',
  later: 'put off',
  same: 'said to be the same',
  different: 'said to be another',
};

export function EntityPairs({ entity }: { readonly entity: EntityDetailAnswer }) {
  const address = useAddress();
  // A pair that was merged has both its sides here.
  const pairs = entity.pairs.filter(({ state }) => state !== 'same');
  if (pairs.length === 0)
    return (
      <Text size="sm" c="dimmed">
        Nobody comes near it.
      </Text>
    );
  return (
    <>
      <List size="sm" spacing={4}>
        {pairs.map((pair) => (
          <List.Item key={pair.pair_id}>
            <EntityName id={pair.entity_a === entity.entity_id ? pair.entity_b : pair.entity_a} />,{' '}
            {likelyText(pair.confidence)} likely
            <Text span size="xs" c="dimmed">
              {' '}
              {stateWords[pair.state]}
              {pair.decided_by === null ? '' : ` (${pair.decided_by})`}
            </Text>
          </List.Item>
        ))}
      </List>
      {pairs.some(({ state }) => state === 'open' || state === 'later') ? (
        <Anchor component={Link} href={address('/review')} size="sm">
          Answer in the review queue
        </Anchor>
      ) : null}
    </>
  );
}
