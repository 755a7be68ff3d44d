// Merging another entity into this one: found by name, asked before it is done.
import { Group, Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import type { EntitiesAnswer, EntityAnswer, EntityMergeAnswer } from '../../../../../src/http/contract.ts';
import { ConfirmButton, useAct } from '../../../parts/act.tsx';
import { change, useRead } from '../ask.ts';
import { usePlace } from '../place.ts';
import { counted, entityTypeWords, knownAs } from '../words.ts';

const mostFound = 20;

export function MergeForm({ entity }: { readonly entity: EntityAnswer }) {
  const place = usePlace();
  const [typed, setTyped] = useState('');
  const [name] = useDebouncedValue(typed.trim(), 250);
  const [chosen, setChosen] = useState<string | null>(null);
  const { data } = useRead<EntitiesAnswer>(
    '/entities',
    { name, limit: mostFound },
    { isWanted: name !== '' },
  );
  const others = (data?.entities ?? []).filter(({ entity_id: id }) => id !== entity.entity_id);
  const other = others.find(({ entity_id: id }) => id === chosen);
  const merging = useAct(
    (loser: EntityAnswer) =>
      change<EntityMergeAnswer>(place, 'POST', '/merges', {
        winner_id: entity.entity_id,
        loser_id: loser.entity_id,
        reason: `${loser.canonical_name} is the same, said on the dashboard.`,
      }),
    {
      stale: ['knowledge'],
      done: (_merge, loser) => `${loser.canonical_name} is part of ${entity.canonical_name} now.`,
    },
  );
  return (
    <Group gap="xs" align="flex-end">
      <Select
        label="Merge another into this one"
        placeholder="Type a name"
        size="xs"
        flex="1 1 200px"
        searchable
        clearable
        data={others.map((each) => ({ value: each.entity_id, label: optionText(each) }))}
        // The server has searched already, by aliases too.
        filter={({ options }) => options}
        nothingFoundMessage={name === '' ? undefined : 'Nobody else is called that'}
        value={chosen}
        onChange={setChosen}
        onSearchChange={setTyped}
      />
      <ConfirmButton
        label="Merge"
        size="xs"
        variant="default"
        disabled={other === undefined}
        loading={merging.isRunning}
        question={
          other === undefined
            ? ''
            : `${knownAs(other)} becomes part of ${knownAs(entity)}, with ${counted(other.mention_count, 'mention')}. It can be undone here.`
        }
        onConfirm={() => {
          if (other) merging.run(other);
          setChosen(null);
        }}
      />
    </Group>
  );
}

const optionText = (entity: EntityAnswer): string =>
  `${knownAs(entity)}, ${entityTypeWords[entity.type]}, ${counted(entity.mention_count, 'mention')}, …${entity.entity_id.slice(-5)}`;
