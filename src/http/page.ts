// One page of a list.

/** Reads one item more than the page holds: that tells whether there is a next page. */
export async function pageOf<Item extends { readonly id: string }>(
  limit: number,
  read: (limit: number) => Promise<readonly Item[]>,
): Promise<{ readonly items: readonly Item[]; readonly next: string | null }> {
  const found = await read(limit + 1);
  const items = found.slice(0, limit);
  return { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : null };
}
