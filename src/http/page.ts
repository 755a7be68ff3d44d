// One page of a list.

/** Reads one item more than the page holds: that tells whether there is a next page. */
export async function pageOf<Item>(
  limit: number,
  read: (limit: number) => Promise<readonly Item[]>,
  cursorOf: (item: Item) => string = (item) => (item as { readonly id: string }).id,
): Promise<{ readonly items: readonly Item[]; readonly next: string | null }> {
  const found = await read(limit + 1);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, next: found.length > limit && last !== undefined ? cursorOf(last) : null };
}
