// Folds the unchanged lines of a text, with a few lines of context around each change.

export type FoldedPart =
  | { readonly line: string; readonly isMarked: boolean; readonly at: number }
  | { readonly equalLines: number; readonly at: number };

/** Lines of context before and after a changed line. */
const around = 3;
/** Fewer lines are not folded. */
const fewestFolded = 4;

/** `marked`: numbers of the changed lines, from 0. */
export function foldedLines(text: string, marked: ReadonlySet<number>): readonly FoldedPart[] {
  const lines = text.split('\n');
  const isNear = lines.map((_, at) => {
    for (let near = at - around; near <= at + around; near += 1) if (marked.has(near)) return true;
    return false;
  });
  const parts: FoldedPart[] = [];
  for (let at = 0; at < lines.length;) {
    let end = at;
    while (end < lines.length && isNear[end] === false) end += 1;
    if (end - at >= fewestFolded) parts.push({ equalLines: end - at, at });
    else for (; at < end; at += 1) parts.push(partOf(lines, marked, at));
    at = end;
    if (at < lines.length) parts.push(partOf(lines, marked, at++));
  }
  return parts;
}

export const allLines = (text: string, marked: ReadonlySet<number>): readonly FoldedPart[] =>
  text.split('\n').map((_, at, lines) => partOf(lines, marked, at));

const partOf = (lines: readonly string[], marked: ReadonlySet<number>, at: number): FoldedPart => ({
  line: lines[at] ?? '',
  isMarked: marked.has(at),
  at,
});
