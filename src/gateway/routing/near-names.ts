// Names that somebody may have meant: by pairs of letters in common, because model names share stems, not beginnings.

const nearEnough = 0.4;
const mostNames = 3;

/** The nearest first; empty when nothing is near. */
export function nearNames(typed: string, names: Iterable<string>): readonly string[] {
  const wanted = pairsOf(typed);
  const near: { readonly name: string; readonly likeness: number }[] = [];
  for (const name of new Set(names)) {
    const likeness = likenessOf(wanted, pairsOf(name));
    if (likeness >= nearEnough) near.push({ name, likeness });
  }
  near.sort((a, b) => b.likeness - a.likeness || (a.name < b.name ? -1 : 1));
  return near.slice(0, mostNames).map(({ name }) => name);
}

/** Sørensen–Dice: 1 for the same pairs, 0 for none in common. */
function likenessOf(some: ReadonlySet<string>, others: ReadonlySet<string>): number {
  return (2 * some.intersection(others).size) / (some.size + others.size || 1);
}

function pairsOf(name: string): ReadonlySet<string> {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const pairs = new Set<string>();
  for (let index = 0; index + 1 < plain.length; index++) pairs.add(plain.slice(index, index + 2));
  return pairs;
}
