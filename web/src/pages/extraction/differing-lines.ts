// Line diff of two texts: longest common subsequence between their common prefix and suffix.

export interface Differing {
  /** Line numbers, from 0. */
  readonly left: ReadonlySet<number>;
  readonly right: ReadonlySet<number>;
}

/** Above this number of line pairs everything between prefix and suffix counts as different: the diff would take seconds. */
const maxPairs = 4_000_000;

export function differingLines(leftText: string, rightText: string): Differing {
  const left = leftText.split('\n');
  const right = rightText.split('\n');
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  let end = 0;
  while (end < left.length - start && end < right.length - start && left.at(-1 - end) === right.at(-1 - end))
    end += 1;
  const middle = commonOf(left.slice(start, left.length - end), right.slice(start, right.length - end));
  return {
    left: without(start, left.length - end, middle.left),
    right: without(start, right.length - end, middle.right),
  };
}

function without(from: number, to: number, common: ReadonlySet<number>): ReadonlySet<number> {
  const lines = Array.from({ length: to - from }, (_, index) => index).filter((index) => !common.has(index));
  return new Set(lines.map((index) => from + index));
}

/** Lines of the longest common subsequence. */
function commonOf(left: readonly string[], right: readonly string[]): Differing {
  const common = { left: new Set<number>(), right: new Set<number>() };
  if (left.length * right.length > maxPairs) return common;
  const width = right.length + 1;
  const lengths = new Uint32Array((left.length + 1) * width);
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  for (let row = left.length - 1; row >= 0; row -= 1)
    for (let column = right.length - 1; column >= 0; column -= 1)
      lengths[row * width + column] =
        left[row] === right[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
  for (let row = 0, column = 0; row < left.length && column < right.length;) {
    if (left[row] === right[column]) {
      common.left.add(row++);
      common.right.add(column++);
    } else if (at(row + 1, column) >= at(row, column + 1)) row += 1;
    else column += 1;
  }
  return common;
}
