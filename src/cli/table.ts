// Lays rows out in columns for people to read. Machines take --json.

/**
 * Text as it may go to a terminal: what servers and users wrote must not move the cursor, change colours, turn the order
 * of what follows, or hide.
 */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  return text.replaceAll(unseen, '').replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ');
}

/** Marks that steer direction, and what has no width; joiners stay between letters or pictures, which need them. */
const letter = String.raw`\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}`;
const joiners = String.raw`\u200c\u200d`;
const unseen = new RegExp(
  [
    String.raw`[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]`,
    `(?<![${letter}])[${joiners}]+`,
    `[${joiners}]+(?![${letter}])`,
  ].join('|'),
  'gu',
);

export interface TableOptions {
  /** Cells are cut with "…" so that lines are no wider, the widest column first; `null`: as wide as it gets. */
  readonly maxWidth: number | null;
  readonly styleHeader?: (text: string) => string;
  /** Applied after the widths are known, so that colours do not count. */
  readonly styleCell?: (text: string, column: number, row: number) => string;
}

const gap = 2;
const narrowest = 8;

/** Lines without line breaks; the first is the header. */
export function layOutTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  options: TableOptions,
): readonly string[] {
  const cells = rows.map((row) => row.map(printable));
  const widths = fit(
    header.map((title, column) =>
      Math.max(...[header, ...cells].map((row) => (row[column] ?? title).length)),
    ),
    options.maxWidth,
  );
  const lineOf = (row: readonly string[], style: (text: string, column: number) => string): string =>
    widths
      .map((width, column) => {
        const text = cut(row[column] ?? '', width);
        const isLast = column === widths.length - 1;
        return style(text, column) + (isLast ? '' : ' '.repeat(width - text.length + gap));
      })
      .join('')
      .trimEnd();
  const { styleHeader = (text) => text, styleCell = (text) => text } = options;
  return [
    lineOf(header, styleHeader),
    ...cells.map((row, index) => lineOf(row, (text, column) => styleCell(text, column, index))),
  ];
}

/** Narrows the widest column until the line fits, or nothing can be narrowed any more. */
function fit(natural: readonly number[], maxWidth: number | null): readonly number[] {
  const widths = [...natural];
  if (maxWidth === null) return widths;
  const total = () => widths.reduce((sum, width) => sum + width + gap, -gap);
  while (total() > maxWidth) {
    const widest = Math.max(...widths);
    if (widest <= narrowest) break;
    widths[widths.indexOf(widest)] = widest - 1;
  }
  return widths;
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}
