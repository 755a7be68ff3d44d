// Merges another entity, found by name, into this one after confirmation.
import { Group, Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import type { EntitiesAnswer, EntityAnswer, EntityMergeAnswer } from '../../../../../src/http/contract.ts';
import { ConfirmButton, useAction } from '../../../parts/action.tsx';
import { change, useRead } from '../queries.ts';
import { usePlace } from '../place.ts';
import { counted, entityTypeLabels, knownAs } from '../labels.ts';

const mostFound = 20;

export function MergeForm({ entity }: { readonly entity: EntityAnswer }) {
  const place = usePlace();
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState<EntityAnswer | null>(null);
  const [name] = useDebouncedValue(typed.trim(), 250);
  // The field shows the label of the selected option, which is not a name to search for.
  const isSearching = name !== '' && (chosen === null || name !== optionText(chosen));
  const { data } = useRead<EntitiesAnswer>(
    '/entities',
    { name, limit: mostFound },
    { isEnabled: isSearching },
  );
  const found = (isSearching ? data?.entities : undefined) ?? (chosen === null ? [] : [chosen]);
  const others = found.filter(({ entity_id: id }) => id !== entity.entity_id);
  const merging = useAction(
    (loser: EntityAnswer) =>
      change<EntityMergeAnswer>(place, 'POST', '/merges', {
        winner_id: entity.entity_id,
        loser_id: loser.entity_id,
        reason: `Merged ${loser.canonical_name} in the dashboard.`,
      }),
    {
      stale: ['knowledge'],
      done: (_merge, loser) => `Merged ${loser.canonical_name} into ${entity.canonical_name}.`,
    },
  );
  return (
    <Group gap="xs" align="flex-end">
      <Select
        label="Merge another entity into this one"
        placeholder="Type a name"
        size="xs"
        flex="1 1 200px"
        searchable
        clearable
        data={others.map((each) => ({ value: each.entity_id, label: optionText(each) }))}
        // Already filtered by the server, aliases included.
        filter={({ options }) => options}
        nothingFoundMessage={!isSearching ? undefined : 'No other entity with this name'}
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
            : `Merges ${knownAs(chosen)} with ${counted(chosen.mention_count, 'mention')} into ${knownAs(entity)}. You can undo this here.`
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
  `${knownAs(entity)}, ${entityTypeLabels[entity.type]}, ${counted(entity.mention_count, 'mention')}, …${entity.entity_id.slice(-5)}`;
