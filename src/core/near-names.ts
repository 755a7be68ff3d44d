// Names that somebody may have meant.

const nearEnough = 0.5;
const mostNames = 3;
/** Fewer characters than this are part of nearly every name. */
const tellingLength = 3;

/**
 * Names that hold what was typed, then those that have half of their pairs of letters in common with it: names share
 * stems, not beginnings. The nearest first, three at most; empty when nothing is near.
 */
export function nearNames(typed: string, names: Iterable<string>): readonly string[] {
  const plain = plainOf(typed);
  const wanted = pairsOf(plain);
  const near: { readonly name: string; readonly likeness: number }[] = [];
  for (const name of new Set(names)) {
    const other = plainOf(name);
    const likeness = likenessOf(wanted, pairsOf(other));
    const isPart = plain.length >= tellingLength && other.includes(plain);
    if (isPart || likeness >= nearEnough) near.push({ name, likeness: likeness + Number(isPart) });
  }
  near.sort((a, b) => b.likeness - a.likeness || (a.name < b.name ? -1 : 1));
  return near.slice(0, mostNames).map(({ name }) => name);
}

/** Sørensen–Dice: 1 for the same pairs, 0 for none in common. */
function likenessOf(some: ReadonlySet<string>, others: ReadonlySet<string>): number {
  return (2 * some.intersection(others).size) / (some.size + others.size || 1);
}

const plainOf = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

function pairsOf(plain: string): ReadonlySet<string> {
  const pairs = new Set<string>();
  for (let index = 0; index + 1 < plain.length; index++) pairs.add(plain.slice(index, index + 2));
  return pairs;
}
