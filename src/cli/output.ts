// How a command speaks: text for people or JSON for programs on stdout, everything on the side on stderr.
import { styleText } from 'node:util';
import type { CliIo } from './ports.ts';
import { layOutTable, printable } from './table.ts';

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

  /** One document: spread out on a terminal, in one line otherwise. */
  json(document: unknown): void {
    this.line(JSON.stringify(document, null, this.#io.isTty.stdout ? 2 : 0));
  }

  /** One of many: always one line each. */
  jsonLine(item: unknown): void {
    this.line(JSON.stringify(item));
  }

  /** For people, beside the result: on stderr, and not at all with --json. */
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

  /** Names and values below each other. */
  facts(facts: readonly (readonly [name: string, value: string])[]): void {
    const width = Math.max(...facts.map(([name]) => name.length));
    for (const [name, value] of facts)
      this.line(`  ${this.style('dim', name.padEnd(width))}  ${printable(value)}`);
  }
}
