// Output of commands: text for people or JSON for programs on stdout, notes and progress on stderr.
import { styleText } from 'node:util';
import { formatWholeSeconds, shellWord } from '../core/index.ts';
import type { CliIo } from './io.ts';

export { counted, formatDuration, formatWholeSeconds } from '../core/text.ts';

type Format = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

export class Output {
  readonly isJson: boolean;
  readonly #io: CliIo;
  readonly #hasColor: boolean;

  constructor(io: CliIo, options: { readonly json: boolean; readonly color: boolean }) {
    this.#io = io;
    this.isJson = options.json;
    const isPlain = Boolean(io.env['NO_COLOR']) || io.env['TERM'] === 'dumb';
    this.#hasColor = options.color && !options.json && io.isTty.stdout && !isPlain;
  }

  /** May a progress bar be drawn on stderr? */
  get canDraw(): boolean {
    return !this.isJson && this.#io.isTty.stderr && this.#io.env['TERM'] !== 'dumb';
  }

  style(format: Format, text: string): string {
    return this.#hasColor ? styleText(format, text, { validateStream: false }) : text;
  }

  line(text = ''): void {
    this.#io.stdout.write(`${text}\n`);
  }

  /** Prints one document: indented on a terminal, in one line otherwise. */
  json(document: unknown): void {
    this.line(JSON.stringify(document, null, this.#io.isTty.stdout ? 2 : 0));
  }

  /** Prints one of many documents, each in one line. */
  jsonLine(item: unknown): void {
    this.line(JSON.stringify(item));
  }

  /** Prints a note for people beside the result: on stderr, and not with --json. */
  note(text: string): void {
    if (!this.isJson) this.#io.stderr.write(`${text}\n`);
  }

  table(
    header: readonly string[],
    rows: readonly (readonly string[])[],
    styleCell?: (text: string, column: number, row: number) => string,
  ): void {
    const lines = layOutTable(header, rows, {
      maxWidth: this.#io.columns,
      styleHeader: (text) => this.style('bold', text),
      ...(styleCell ? { styleCell } : {}),
    });
    for (const line of lines) this.line(line);
  }

  /** One row per item; the sentence when there are no items. */
  list<Item extends object>(
    items: readonly Item[],
    whenEmpty: string,
    columns: readonly Column<Item>[],
  ): void {
    if (items.length === 0) return this.line(whenEmpty);
    const titles = columns.map((column) => (typeof column === 'string' ? column : column[0]));
    this.table(
      titles.map((title) => label(title).toUpperCase()),
      items.map((item) =>
        columns.map((column) => {
          if (typeof column !== 'string') return valueText(column[1](item));
          const at = instantOf(column, item[column]);
          return at === null ? valueText(item[column]) : this.ago(at);
        }),
      ),
      (text, column) => {
        if (titles[column] === 'id') return this.style('dim', text);
        return text === 'failed' || text === 'error' ? this.style('red', text) : text;
      },
    );
  }

  /** Every field of the object below each other, under its name; `others` are added or replace fields. */
  fields(object: object, others: Readonly<Record<string, unknown>> = {}): void {
    this.facts(
      Object.entries({ ...object, ...others })
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => {
          const at = instantOf(name, value);
          return [label(name), at === null ? valueText(value) : this.moment(at)];
        }),
    );
  }

  /** `3 min ago`; a dash for no moment at all. */
  ago(iso: string | null | undefined): string {
    return humanMoment(iso, this.#io.clock.now());
  }

  /** `2026-03-01T11:57:00Z (3 min ago)`; a dash for no moment at all. */
  moment(iso: string | null): string {
    return iso === null ? '–' : `${iso} (${this.ago(iso)})`;
  }

  /** How to get the next page, if there is one. */
  nextPage(next: string | null): void {
    if (next !== null) this.note(`There are more: add --after ${shellWord(next)}`);
  }

  /** Names and values below each other. */
  facts(facts: readonly (readonly [name: string, value: string | number | null])[]): void {
    const width = Math.max(...facts.map(([name]) => name.length));
    for (const [name, value] of facts)
      this.line(`  ${this.style('dim', name.padEnd(width))}  ${printable(String(value ?? '–'))}`);
  }
}

/** A field of the item, or a title with the text of the cell. */
export type Column<Item> = (keyof Item & string) | readonly [title: string, cell: (item: Item) => unknown];

/** `created_at`, `createdAt` → `created` */
const label = (name: string): string =>
  name
    .replace(/(?:_at|At)$/, '')
    .replaceAll(/_|(?=[A-Z])/g, ' ')
    .toLowerCase();

/** A moment in ISO 8601, from a text or from milliseconds in a field `…At`; null for any other value. */
function instantOf(name: string, value: unknown): string | null {
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return value;
  return typeof value === 'number' && name.endsWith('At') ? isoMoment(value) : null;
}

/** Null for an invalid moment. */
export function isoMoment(at: number): string | null {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** A dash for nothing. */
function valueText(value: unknown): string {
  if (value === null || value === undefined) return '–';
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(', ') || '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * Text as it may go to a terminal: text from servers and users must not move the cursor, change colors, reverse the order
 * of the text that follows, or be invisible.
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
  /** Cells are cut with "…" so that lines are no wider, the widest column first; `null`: no limit. */
  readonly maxWidth: number | null;
  readonly styleHeader?: (text: string) => string;
  /** Applied after the widths are known, so that color codes do not count. */
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

/** At most `width` characters, with "…" at the end of what was longer. */
export function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}

/** `3 min ago`, `in 2 h`, `now`; a dash for no moment at all. The larger unit only. */
export function humanMoment(iso: string | null | undefined, nowMs: number): string {
  const at = iso === null || iso === undefined ? Number.NaN : Date.parse(iso);
  if (Number.isNaN(at)) return '–';
  const distance = Math.abs(at - nowMs);
  if (distance < 1_000) return 'now';
  const text = formatWholeSeconds(distance, 1);
  return at < nowMs ? `${text} ago` : `in ${text}`;
}
