// Merges another entity, found by name, into this one after confirmation.
import type { Entity } from '../../../../../src/api/entities.ts';
import { Group, Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ConfirmButton, useAction } from '../../../components/action.tsx';
import { inSpace, readOptions } from '../queries.ts';
import { useSpaceRef } from '../space-ref.ts';
import { counted } from '../../../components/format.ts';
import { entityTypeLabels, knownAs } from '../labels.ts';

const maxFound = 20;

export function MergeForm({ entity }: { readonly entity: Entity }) {
  const spaceRef = useSpaceRef();
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState<Entity | null>(null);
  const [name] = useDebouncedValue(typed.trim(), 250);
  // The field shows the label of the selected option, which is not a name to search for.
  const isSearching = name !== '' && (chosen === null || name !== optionText(chosen));
  const { data } = useQuery({
    ...readOptions(spaceRef, 'GET /api/v1/knowledge/entities', { query: { name, limit: maxFound } }),
    enabled: isSearching,
  });
  const found = (isSearching ? data?.entities : undefined) ?? (chosen === null ? [] : [chosen]);
  const others = found.filter(({ id }) => id !== entity.id);
  const merging = useAction(
    (loser: Entity) =>
      inSpace(spaceRef, 'POST /api/v1/knowledge/merges', {
        body: {
          winner_id: entity.id,
          loser_id: loser.id,
          reason: `Merged ${loser.canonical_name} in the dashboard.`,
        },
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
        data={others.map((each) => ({ value: each.id, label: optionText(each) }))}
        // Already filtered by the server, aliases included.
        filter={({ options }) => options}
        nothingFoundMessage={!isSearching ? undefined : 'No other entity with this name'}
        value={chosen?.id ?? null}
        onChange={(id) => setChosen(others.find((each) => each.id === id) ?? null)}
        onSearchChange={setTyped}
      />
      <ConfirmButton
        label="Merge entity"
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

const optionText = (entity: Entity): string =>
  `${knownAs(entity)}, ${entityTypeLabels[entity.type]}, ${counted(entity.mention_count, 'mention')}, …${entity.id.slice(-5)}`;
