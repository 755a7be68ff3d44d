// Selects organization and space; the selection is kept in the address.
import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useLocation } from 'wouter';
import type { SpaceRef } from './space-ref.ts';
import { addressOf, useSpaceRef } from './space-ref.ts';
import type { NamedSpace } from './space-list.ts';
import { sharedGroup, readSpaces, standard } from './space-list.ts';

export function SpaceSwitcher({ section }: { readonly section: string }) {
  const [, go] = useLocation();
  const spaceRef = useSpaceRef();
  const { data } = useQuery({
    queryKey: ['knowledge', 'spaces'],
    queryFn: ({ signal }) => readSpaces(signal),
  });
  const spaces = withCurrent(data ?? [], spaceRef);
  const value = String(spaces.findIndex((each) => isSame(each, spaceRef)));
  return (
    <Select
      aria-label="Space"
      w={{ base: '100%', xs: 320 }}
      searchable
      allowDeselect={false}
      nothingFoundMessage="No such space"
      value={value}
      data={groupsOf(spaces)}
      onChange={(chosen) => {
        const found = spaces[Number(chosen)];
        if (found) go(addressOf(section, found.spaceRef));
      }}
    />
  );
}

const isSame = (one: NamedSpace, spaceRef: SpaceRef): boolean =>
  one.spaceRef.organization === spaceRef.organization && one.name === (spaceRef.space ?? standard);

/** The address may name a space that is not listed, by id or by mistake. */
function withCurrent(spaces: readonly NamedSpace[], spaceRef: SpaceRef): readonly NamedSpace[] {
  if (spaces.some((each) => isSame(each, spaceRef))) return spaces;
  return [
    ...spaces,
    { group: spaceRef.organization ?? sharedGroup, name: spaceRef.space ?? standard, spaceRef },
  ];
}

function groupsOf(spaces: readonly NamedSpace[]) {
  const rows = spaces.map(({ group, name }, index) => ({
    owner: group,
    value: String(index),
    label: `${group}: ${name}`,
  }));
  return [...Map.groupBy(rows, ({ owner }) => owner)].map(([group, items]) => ({ group, items }));
}
