// The thread that parses documents from untrusted sources. Parser libraries are loaded on first use.
import type { Formatter, HtmlNode } from 'html-to-text';
import type { Address } from 'postal-mime';
import { serveThread } from '../threads/serve-thread.ts';
import { zipProblem } from './check-zip.ts';
import type { Parsed } from './media-types.ts';

const heading = (level: number) => ({ selector: `h${level}`, options: { uppercase: false } });

/** Keeps headings, lists and tables apart. Images and link targets are left out: they add nothing to the text. */
async function htmlToText(html: string): Promise<string> {
  const { convert } = await import('html-to-text');
  return convert(html, {
    wordwrap: false,
    limits: { maxInputLength: html.length + 1 },
    selectors: [
      { selector: 'img', format: 'skip' },
      { selector: 'a', options: { ignoreHref: true } },
      { selector: 'table', format: 'boundedTable', options: { uppercaseHeaderCells: false } },
      ...[1, 2, 3, 4, 5, 6].map(heading),
    ],
    formatters: { boundedTable: boundedTable() },
  });
}

/** Cells that spans may cover, in one table and in one document: the layout of a table has an entry for each of them. */
const maxSpanned = { inTable: 5_000, inDocument: 100_000 } as const;

/** As `dataTable`, but further spans count as 1: a hundred bytes could otherwise span billions of cells. */
function boundedTable(): Formatter {
  let leftInDocument = maxSpanned.inDocument;
  const boundSpans = (table: HtmlNode): void => {
    let left = Math.min(maxSpanned.inTable, leftInDocument);
    for (const { attribs = {} } of cellsOf(table)) {
      const spanned = spanOf(attribs['colspan']) * spanOf(attribs['rowspan']) - 1;
      if (spanned <= left) {
        left -= spanned;
        leftInDocument -= spanned;
        continue;
      }
      delete attribs['colspan'];
      delete attribs['rowspan'];
    }
  };
  return (table, walk, builder, options) => {
    boundSpans(table);
    builder.options.formatters['dataTable']?.(table, walk, builder, options);
  };
}

function* cellsOf(node: HtmlNode): Generator<HtmlNode> {
  for (const child of node.children ?? []) {
    if (child.name === 'td' || child.name === 'th') yield child;
    else if (rowContainers.has(child.name ?? '')) yield* cellsOf(child);
  }
}

const rowContainers: ReadonlySet<string> = new Set(['thead', 'tbody', 'tfoot', 'center', 'tr']);

/** As html-to-text reads it. */
const spanOf = (attribute: string | undefined): number => Math.abs(Number(attribute)) || 1;

/** Converts through HTML, so that headings, lists and tables stay apart. */
async function readDocx(bytes: Uint8Array): Promise<Parsed> {
  const problem = zipProblem(bytes);
  if (problem !== null) return { problem };
  const { default: mammoth } = await import('mammoth');
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const convertImage = mammoth.images.imgElement(() => Promise.resolve({ src: '' }));
  const { value } = await mammoth.convertToHtml({ buffer }, { convertImage, externalFileAccess: false });
  const text = await htmlToText(value);
  const pictures = value.split('<img').length - 1;
  if (text.trim() === '' && pictures > 0)
    return { problem: 'it has pictures but no text. Send the pictures themselves to a model with vision.' };
  return {
    text,
    warnings:
      pictures === 0
        ? []
        : [pictures === 1 ? 'A picture in it was left out.' : `${pictures} pictures in it were left out.`],
  };
}

/** A message lists at most this many pages. */
const maxListedPages = 10;

async function readPdf(bytes: Uint8Array): Promise<Parsed> {
  const { getDocumentProxy } = await import('unpdf');
  let pdf: Awaited<ReturnType<typeof getDocumentProxy>>;
  try {
    pdf = await getDocumentProxy(bytes, { verbosity: 0, stopAtErrors: false });
  } catch (error) {
    if (error instanceof Error && error.name === 'PasswordException')
      return { problem: 'it is protected with a password. Save it without one and send it again.' };
    throw error;
  }
  const pages: string[] = [];
  const blankPages: number[] = [];
  for (let number = 1; number <= pdf.numPages; number++) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    const text = items
      .map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : ''))
      .join('')
      .trim();
    page.cleanup();
    if (text === '') blankPages.push(number);
    else pages.push(text);
  }
  if (pages.length === 0)
    return {
      problem:
        'it has no text; its pages seem to be scanned. Send them as images (PNG, JPEG) to a model with vision, or let an OCR program add the text.',
    };
  return { text: pages.join('\n\n'), warnings: blankPages.length === 0 ? [] : [withoutText(blankPages)] };
}

function withoutText(pages: readonly number[]): string {
  const named = pages.slice(0, maxListedPages).join(', ');
  const more = pages.length > maxListedPages ? ` and ${pages.length - maxListedPages} more` : '';
  return pages.length === 1
    ? `Page ${named} has no text (scanned?) and was left out.`
    : `Pages ${named}${more} have no text (scanned?) and were left out.`;
}

/** The length of the list of attachments, in characters. */
const maxNamesLength = 300;

async function readEml(bytes: Uint8Array): Promise<Parsed> {
  const { default: PostalMime } = await import('postal-mime');
  const mail = await PostalMime.parse(bytes);
  if (mail.headers.length === 0)
    return { problem: 'it has no headers, so it is not an email. Send it with its actual type.' };
  const written = mail.text?.trim() ?? '';
  const body = written === '' && mail.html !== undefined ? await htmlToText(mail.html) : written;
  const head = [
    ['From', mail.from ? formatAddresses([mail.from]) : ''],
    ['To', formatAddresses(mail.to ?? [])],
    ['Cc', formatAddresses(mail.cc ?? [])],
    ['Date', mail.date ?? ''],
    ['Subject', mail.subject ?? ''],
  ].filter(([, value]) => value !== '');
  const { attachments } = mail;
  const names = attachments
    .map(({ filename }) => filename ?? 'unnamed')
    .join(', ')
    .replaceAll(/\p{Cc}/gu, '')
    .slice(0, maxNamesLength)
    // The cut may go through a character.
    .toWellFormed();
  return {
    text: [...head.map(([name, value]) => `${name}: ${value}`), '', body].join('\n').trim(),
    warnings:
      attachments.length === 0
        ? []
        : [`Its attachments were not read (${names}); send them as separate files.`],
  };
}

function formatAddresses(addresses: readonly Address[]): string {
  return addresses
    .flatMap((each) => each.group ?? [each])
    .map(({ name, address }) => (name === '' ? (address ?? '') : `${name} <${address ?? ''}>`))
    .join(', ');
}

const functions = {
  html: async (html: string): Promise<Parsed> => ({ text: await htmlToText(html), warnings: [] }),
  pdf: readPdf,
  docx: readDocx,
  eml: readEml,
} as const;
export type DocumentFunctions = typeof functions;

serveThread(functions);
