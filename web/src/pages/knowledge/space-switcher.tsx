// Selects organization and space; the selection is kept in the address.
import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useLocation } from 'wouter';
import type { Place } from './place.ts';
import { addressOf, usePlace } from './place.ts';
import type { NamedPlace } from './places.ts';
import { sharedGroup, readPlaces, standard } from './places.ts';

export function SpaceSwitcher({ section }: { readonly section: string }) {
  const [, go] = useLocation();
  const place = usePlace();
  const { data } = useQuery({
    queryKey: ['knowledge', 'places'],
    queryFn: ({ signal }) => readPlaces(signal),
  });
  const places = withCurrent(data ?? [], place);
  const value = String(places.findIndex((each) => isSame(each, place)));
  return (
    <Select
      aria-label="Space"
      w={{ base: '100%', xs: 320 }}
      searchable
      allowDeselect={false}
      nothingFoundMessage="No such space"
      value={value}
      data={groupsOf(places)}
      onChange={(chosen) => {
        const found = places[Number(chosen)];
        if (found) go(addressOf(section, found.place));
      }}
    />
  );
}

const isSame = (one: NamedPlace, place: Place): boolean =>
  one.place.organization === place.organization && one.name === (place.space ?? standard);

/** The address may name a space that is not listed, by id or by mistake. */
function withCurrent(places: readonly NamedPlace[], place: Place): readonly NamedPlace[] {
  if (places.some((each) => isSame(each, place))) return places;
  return [...places, { group: place.organization ?? sharedGroup, name: place.space ?? standard, place }];
}

function groupsOf(places: readonly NamedPlace[]) {
  const rows = places.map(({ group, name }, index) => ({
    owner: group,
    value: String(index),
    label: `${group}: ${name}`,
  }));
  return [...Map.groupBy(rows, ({ owner }) => owner)].map(([group, items]) => ({ group, items }));
}
