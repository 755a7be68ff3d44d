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
  const [chosen, setChosen] = useState<EntityAnswer | null>(null);
  const [name] = useDebouncedValue(typed.trim(), 250);
  // What was chosen stands in the field as its whole description, which is nobody's name.
  const isSearching = name !== '' && (chosen === null || name !== optionText(chosen));
  const { data } = useRead<EntitiesAnswer>(
    '/entities',
    { name, limit: mostFound },
    { isWanted: isSearching },
  );
  const found = (isSearching ? data?.entities : undefined) ?? (chosen === null ? [] : [chosen]);
  const others = found.filter(({ entity_id: id }) => id !== entity.entity_id);
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
        nothingFoundMessage={!isSearching ? undefined : 'Nobody else is called that'}
        value={chosen?.entity_id ?? null}
        onChange={(id) => setChosen(others.find((each) => each.entity_id === id) ?? null)}
        onSearchChange={setTyped}
      />
      <ConfirmButton
        label="Merge"
        size="xs"
        variant="default"
        disabled={chosen === null}
        loading={merging.isRunning}
        question={
          chosen === null
            ? ''
            : `${knownAs(chosen)} becomes part of ${knownAs(entity)}, with ${counted(chosen.mention_count, 'mention')}. It can be undone here.`
        }
        onConfirm={() => {
          if (chosen) merging.run(chosen);
          setChosen(null);
        }}
      />
    </Group>
  );
}

const optionText = (entity: EntityAnswer): string =>
  `${knownAs(entity)}, ${entityTypeWords[entity.type]}, ${counted(entity.mention_count, 'mention')}, …${entity.entity_id.slice(-5)}`;
