// Does something with each of a list, several at once; the first failure stops the others.
import { linkSignals } from '../../core/index.ts';

/** Results in the order of the list. Rejects with the first failure, when everything that had begun is over. */
export async function eachAtOnce<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  signal: AbortSignal,
  run: (item: Item, signal: AbortSignal) => Promise<Result>,
): Promise<readonly Result[]> {
  const linked = linkSignals(signal);
  const results = new Map<number, Result>();
  let next = 0;
  let failure: { readonly error: unknown } | undefined;
  const work = async () => {
    while (next < items.length && !failure) {
      const index = next++;
      try {
        results.set(index, await run(items[index] as Item, linked.signal));
      } catch (error) {
        failure ??= { error };
        linked.abort(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work));
  linked.dispose();
  if (failure) throw failure.error;
  return items.map((_, index) => results.get(index) as Result);
}
