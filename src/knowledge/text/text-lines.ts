// Lines of a text with their places.

export interface Line {
  readonly start: number;
  /** Without its break. */
  readonly text: string;
}

export function* linesOf(text: string): Generator<Line> {
  for (let start = 0; start < text.length;) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    yield { start, text: text.slice(start, end).replace(/\r$/, '') };
    start = end + 1;
  }
}
