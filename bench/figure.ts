// The result of a benchmark: figures with units and, where useful, a baseline.

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** A baseline measured in the same run. `ratio` is value / against. */
  readonly against?: { readonly name: string; readonly value: number };
  /** In words, with the unit: `under 1500 ms`. */
  readonly goal?: string;
  readonly isMet?: boolean;
}

const number = new Intl.NumberFormat('en', { maximumFractionDigits: 2 });
const rounded = (value: number): string => number.format(Math.abs(value) >= 100 ? Math.round(value) : value);

export function printFigures(suite: string, figures: readonly Figure[]): void {
  const rows = figures.map(({ name, value, unit, against, goal, isMet }) => [
    name,
    `${rounded(value)} ${unit}`,
    against ? `${rounded(value / against.value)} × ${against.name} (${rounded(against.value)})` : '',
    goal ? `${goal}${isMet === undefined ? '' : isMet ? ': met' : ': MISSED'}` : '',
  ]);
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  console.log(`\n${suite}`);
  for (const row of rows)
    console.log(
      `  ${row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd()}`,
    );
}

export function jsonFigures(suite: string, figures: readonly Figure[]): string {
  return JSON.stringify({
    suite,
    figures: figures.map((figure) => ({
      ...figure,
      ...(figure.against ? { ratio: figure.value / figure.against.value } : {}),
    })),
  });
}

/** How often `batch` (which does `size` operations) runs per second, times `size`; best of three, after a warm-up. */
export async function perSecond(size: number, batch: () => Promise<void>, seconds = 1): Promise<number> {
  await batch();
  let best = 0;
  for (let round = 0; round < 3; round++) {
    const startedAt = performance.now();
    let done = 0;
    let elapsedMs = 0;
    while (elapsedMs < seconds * 1000) {
      await batch();
      done += size;
      elapsedMs = performance.now() - startedAt;
    }
    best = Math.max(best, (done / elapsedMs) * 1000);
  }
  return best;
}
