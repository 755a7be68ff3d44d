// HTML to text that keeps headings, lists and tables apart.
import { convert } from 'html-to-text';

const heading = (level: number) => ({ selector: `h${level}`, options: { uppercase: false } });

/** Pictures and addresses of links are left out: they say nothing to a reader of the text. */
export function htmlToText(html: string): string {
  return convert(html, {
    wordwrap: false,
    limits: { maxInputLength: html.length + 1 },
    selectors: [
      { selector: 'img', format: 'skip' },
      { selector: 'a', options: { ignoreHref: true } },
      { selector: 'table', format: 'dataTable', options: { uppercaseHeaderCells: false } },
      ...[1, 2, 3, 4, 5, 6].map(heading),
    ],
  });
}
