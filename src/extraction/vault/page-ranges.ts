// Whether the pages of a type follow each other without a gap.
import type { SettledPage } from '../ports.ts';

interface Range {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

/** A sentence per gap; empty when the pages cover everything from the beginning on. */
export function findGaps(pages: readonly SettledPage[]): readonly string[] {
  const lists = Map.groupBy(pages, ({ request }) => request.listing ?? '');
  return [...lists].flatMap(([listing, ofList]) =>
    [...gapsBetween(ofList.flatMap(rangeOf)), ...unfinishedChain(ofList)].map((gap) =>
      listing === '' ? gap : `${listing}: ${gap}`,
    ),
  );
}

function rangeOf({ request }: SettledPage): readonly Range[] {
  if (request.kind === 'offset') return [{ from: request.offset, to: request.offset + request.limit }];
  if (request.kind !== 'page') return [];
  return [{ from: request.page * request.limit, to: (request.page + 1) * request.limit }];
}

/** Pages may overlap: the batch size may have changed halfway. */
function gapsBetween(ranges: readonly Range[]): readonly string[] {
  const gaps: string[] = [];
  let covered = 0;
  for (const { from, to } of ranges.toSorted((one, other) => one.from - other.from)) {
    if (from > covered) gaps.push(`items ${covered} to ${from - 1} were never asked for`);
    covered = Math.max(covered, to);
  }
  return gaps;
}

/** Where each page names the next, all must be there, and the last must name none. */
function unfinishedChain(pages: readonly SettledPage[]): readonly string[] {
  const chain = pages.flatMap(({ request, next }) =>
    request.kind === 'cursor' ? [{ index: request.index, next }] : [],
  );
  if (chain.length === 0) return [];
  const sorted = chain.toSorted((one, other) => one.index - other.index);
  const missing = sorted.findIndex(({ index }, place) => index !== place);
  if (missing !== -1) return [`page ${missing} of the chain is missing`];
  return sorted.at(-1)?.next === null ? [] : ['the last page names another that was never asked for'];
}
