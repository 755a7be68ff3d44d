// How the pages of each type are read: plain data that travels to worker threads.
import type { ItemShape, JsonPath, SourceType } from '../ports.ts';

/** How the children of a type are named by the items of another (or by its own listing). */
export interface ChildRule {
  readonly type: string;
  readonly children?: JsonPath;
  readonly key: JsonPath;
  readonly parentKey?: JsonPath;
  readonly hasChildren?: JsonPath;
}

export interface PageReading {
  readonly shape: ItemShape;
  /** Of the type's listings that have a shape of their own, by name. */
  readonly listingShapes: Readonly<Record<string, ItemShape>>;
  /** Set when the type's pages only list what is fetched one by one: their items are not stored. */
  readonly listing: ChildRule | null;
  /** Of other types. */
  readonly children: readonly ChildRule[];
}

/** How to read the pages of every type, by name. */
export function pageReadings(types: readonly SourceType[]): Readonly<Record<string, PageReading>> {
  return Object.fromEntries(
    types.map((type) => [
      type.name,
      {
        shape: type.shape,
        listingShapes: Object.fromEntries(
          (type.listings ?? []).flatMap(({ name, shape }) => (shape ? [[name, shape]] : [])),
        ),
        listing: type.parent?.from === 'self' ? (rulesOf(type)[0] ?? null) : null,
        children: types.filter(({ parent }) => parent?.from === type.name).flatMap(rulesOf),
      },
    ]),
  );
}

function rulesOf({ name, parent }: SourceType): readonly ChildRule[] {
  if (parent === undefined) return [];
  const { children, key, parentKey, hasChildren } = parent;
  return [
    {
      type: name,
      key,
      ...(children === undefined ? {} : { children }),
      ...(parentKey === undefined ? {} : { parentKey }),
      ...(hasChildren === undefined ? {} : { hasChildren }),
    },
  ];
}
