// Finds what somebody probably meant when they mistyped a name.

/** The candidate that differs least. Case, dashes and underscores do not count; more than a third is not near. */
export function nearest(typed: string, candidates: Iterable<string>): string | undefined {
  const wanted = plain(typed);
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const other = plain(candidate);
    const distance = editDistance(wanted, other);
    if (distance < bestDistance && distance <= Math.max(wanted.length, other.length) / 3) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_\s]/g, '');
}

/** How many letters to add, drop, change or swap with their neighbour (optimal string alignment). */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const change = from[row - 1] === to[column - 1] ? 0 : 1;
      let distance = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + change,
      );
      if (row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1])
        distance = Math.min(distance, at(beforeLast, column - 2) + 1);
      current.push(distance);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

const at = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY;
