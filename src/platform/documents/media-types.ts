// Media types: by name, by extension and by content.
import { isUtf8 } from 'node:buffer';
import { extname } from 'node:path';

export interface DocumentFile {
  readonly name: string;
  /** As declared; empty or application/octet-stream when nobody said. */
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** What a document says, as text, or as a picture for models that see. */
export type DocumentContent =
  | { readonly kind: 'text'; readonly text: string; readonly warnings: readonly string[] }
  | { readonly kind: 'image'; readonly dataUrl: string };

/** How a document is read. */
export type DocumentFormat = 'text' | 'html' | 'pdf' | 'docx' | 'eml' | 'image';

/** A document that cannot be read, whoever tries: its message names the file, why, and what to do. Not worth a retry. */
export class UnreadableDocument extends Error {
  override readonly name = 'UnreadableDocument';

  constructor(fileName: string, problem: string, cause?: unknown) {
    super(
      `The file "${shownName(fileName)}" cannot be read: ${problem}`,
      cause === undefined ? undefined : { cause },
    );
  }
}

const longestName = 100;

/** A file's name as it can be shown: without control characters, not too long. */
export function shownName(name: string): string {
  const clean = name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '');
  return clean.length > longestName ? `${clean.slice(0, longestName)}…` : clean;
}

export type Parsed =
  | { readonly text: string; readonly warnings: readonly string[] }
  /** A clause that follows "the file …": why it cannot be read, and what to do. */
  | { readonly problem: string };

export const docxType = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';

interface KnownType {
  readonly format: DocumentFormat;
  readonly extensions: readonly string[];
}

const known: Readonly<Record<string, KnownType>> = {
  'text/plain': { format: 'text', extensions: ['.txt', '.text', '.log'] },
  'text/markdown': { format: 'text', extensions: ['.md', '.markdown'] },
  'text/csv': { format: 'text', extensions: ['.csv', '.tsv'] },
  'application/json': { format: 'text', extensions: ['.json', '.jsonl', '.ndjson'] },
  'application/xml': { format: 'text', extensions: ['.xml'] },
  'text/html': { format: 'html', extensions: ['.html', '.htm', '.xhtml'] },
  'application/pdf': { format: 'pdf', extensions: ['.pdf'] },
  [docxType]: { format: 'docx', extensions: ['.docx'] },
  'message/rfc822': { format: 'eml', extensions: ['.eml'] },
  'image/png': { format: 'image', extensions: ['.png'] },
  'image/jpeg': { format: 'image', extensions: ['.jpg', '.jpeg'] },
  'image/webp': { format: 'image', extensions: ['.webp'] },
  'image/gif': { format: 'image', extensions: ['.gif'] },
};

/** What browsers and mail programs say instead. */
const aliases: Readonly<Record<string, string>> = {
  'text/x-markdown': 'text/markdown',
  'application/csv': 'text/csv',
  'text/json': 'application/json',
  'application/x-ndjson': 'application/json',
  'text/xml': 'application/xml',
  'application/xhtml+xml': 'text/html',
  'application/x-pdf': 'application/pdf',
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
};

const byExtension = new Map(
  Object.entries(known).flatMap(([type, { extensions }]) => extensions.map((ending) => [ending, type])),
);

/** All that can be read, by their first names. Other text/* types are read as plain text. */
export const readableTypes: readonly string[] = Object.keys(known);

export function formatOf(mediaType: string): DocumentFormat | undefined {
  return Object.hasOwn(known, mediaType) ? known[mediaType]?.format : undefined;
}

export function typeByExtension(name: string): string | undefined {
  return byExtension.get(extname(name).toLowerCase());
}

/** Nobody said what it is. */
export function isUndeclared(mediaType: string): boolean {
  const essence = essenceOf(mediaType);
  return essence === '' || essence === 'application/octet-stream' || essence === 'binary/octet-stream';
}

/** The type's first name; what is not known stays as it is. */
export function canonicalType(mediaType: string): string {
  const essence = essenceOf(mediaType);
  const first = Object.hasOwn(aliases, essence) ? (aliases[essence] ?? essence) : essence;
  if (formatOf(first)) return first;
  if (first.endsWith('+json')) return 'application/json';
  if (first.endsWith('+xml') && !first.startsWith('image/')) return 'application/xml';
  return first.startsWith('text/') ? 'text/plain' : first;
}

/** The charset that a media type names. */
export function charsetOf(mediaType: string): string | undefined {
  return /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(mediaType)?.[1];
}

function essenceOf(mediaType: string): string {
  return (mediaType.split(';', 1)[0] ?? '').trim().toLowerCase();
}

export const programType = 'application/x-executable';

const signatures: readonly (readonly [type: string, bytes: string, offset?: number])[] = [
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/gif', 'GIF87a'],
  ['image/gif', 'GIF89a'],
  ['image/webp', 'WEBP', 8],
  ['image/bmp', 'BM\0', 0],
  ['image/tiff', 'II*\0'],
  ['image/tiff', 'MM\0*'],
  // Word, Excel and Outlook before 2007, and newer files of theirs that are protected with a password.
  ['application/x-ole-storage', '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'],
  ['application/gzip', '\x1f\x8b'],
  ['application/x-7z-compressed', '7z\xbc\xaf\x27\x1c'],
  ['application/vnd.rar', 'Rar!\x1a\x07'],
  ['application/x-bzip2', 'BZh91AY'],
  ['application/zstd', '\x28\xb5\x2f\xfd'],
  [programType, '\x7fELF'],
  [programType, '\xca\xfe\xba\xbe'],
  [programType, '\xcf\xfa\xed\xfe'],
  ['audio/mpeg', 'ID3\x03'],
  ['audio/mpeg', 'ID3\x04'],
  ['video/mp4', 'ftyp', 4],
  ['application/rtf', '{\\rtf'],
];

/** PDFs may have something before their first line; readers look this far. */
const pdfWithin = 1_024;
/** Binary files show it early. */
const textWithin = 8_192;

/** What could be UTF-8 but for a few zero bytes: text for whoever was told that it is text. */
export const textWithZeros = 'text-with-zeros';

/** A media type; `text` when it could be any text, or textWithZeros; `unknown` when it is binary and nobody knows it. */
export function sniff(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, textWithin));
  for (const [type, signature, offset = 0] of signatures)
    if (head.toString('latin1', offset, offset + signature.length) === signature) return type;
  if (head.subarray(0, pdfWithin).includes('%PDF-')) return 'application/pdf';
  if (head.toString('latin1', 0, 2) === 'PK' && (head[2] ?? 9) < 9) return zipKind(bytes);
  // Programs for DOS and Windows; words may begin with these letters, too.
  if (head.toString('latin1', 0, 2) === 'MZ' && isStrange(head[2] ?? 0x20)) return programType;
  const isUtf16 = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
  if (isUtf16) return 'text';
  const strange = head.reduce((count, byte) => count + Number(isControl(byte)), 0);
  if (strange > Math.max(mostStrange, head.length / 20)) return 'unknown';
  if (!head.includes(0)) return 'text';
  // Every other byte is zero in UTF-16 of Latin letters; those of other letters are controls, or no UTF-8.
  const zeros = head.reduce((count, byte) => count + Number(byte === 0), 0);
  return zeros <= head.length / 10 && isUtf8(bytes) ? textWithZeros : 'unknown';
}

/** A few may stray into any text. */
const mostStrange = 8;

/** No text has them, whatever its encoding: controls other than blanks, line ends and Escape. */
const isControl = (byte: number): boolean =>
  byte < 0x09 || (byte > 0x0d && byte < 0x20 && byte !== 0x1b) || byte === 0x7f;
const isStrange = (byte: number): boolean => isControl(byte) || byte >= 0x80;

/** Word documents are zip files with a folder `word`. */
function zipKind(bytes: Uint8Array): string {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return whole.includes('word/') && whole.includes('[Content_Types].xml') ? docxType : 'application/zip';
}

export type DecidedType =
  | { readonly mediaType: string; readonly format: DocumentFormat }
  /** A clause that follows "the file …": why it cannot be read, and what to do. */
  | { readonly problem: string };

/** Formats that any text could be in. */
const textual: ReadonlySet<DocumentFormat> = new Set<DocumentFormat>(['text', 'html', 'eml']);

/** Looks at no more than the beginning of the file, or of a zip file's names. Where nobody sees, pictures are no text. */
export function decideType(file: DocumentFile, takesPictures = true): DecidedType {
  if (file.bytes.byteLength === 0) return { problem: 'it is empty; send a file with content.' };
  const seen = seenIn(file);
  const mediaType = isUndeclared(file.mediaType) ? guessed(file.name, seen) : declared(file, seen);
  const format = formatOf(mediaType);
  if (!format) return { problem: unsupported(mediaType, takesPictures) };
  if (format === 'image' && !takesPictures)
    return { problem: `it is a picture, and only text is read here. ${sendOneOf(takesPictures)}` };
  const isTrue = textual.has(format) ? seen === 'text' : seen === mediaType;
  return isTrue ? { mediaType, format } : { problem: contradiction(mediaType, seen) };
}

/** Stray zero bytes are let pass only where somebody says that it is text: archives of texts hold them, too. */
function seenIn({ name, mediaType, bytes }: DocumentFile): string {
  const seen = sniff(bytes);
  if (seen !== textWithZeros) return seen;
  const type = isUndeclared(mediaType) ? typeByExtension(name) : canonicalType(mediaType);
  const format = type === undefined ? undefined : formatOf(type);
  return format && textual.has(format) ? 'text' : 'unknown';
}

/** Bytes are surer than endings; only texts look all alike. */
function guessed(name: string, seen: string): string {
  if (seen !== 'text') return seen;
  if (programs.test(name)) return programType;
  const byName = typeByExtension(name);
  const format = byName === undefined ? undefined : formatOf(byName);
  // A .pdf that holds text is told so; no ending, or one that nobody knows, is plain text.
  return byName !== undefined && format ? byName : 'text/plain';
}

/** Whatever its first bytes look like, nobody writes notes into it. */
const programs = /\.(?:exe|dll|com|scr|msi|sys)$/i;

/** Windows calls .csv files Excel sheets when Excel is installed. */
function declared({ name, mediaType }: DocumentFile, seen: string): string {
  const type = canonicalType(mediaType);
  const isCsv =
    type === 'application/vnd.ms-excel' && seen === 'text' && typeByExtension(name) === 'text/csv';
  return isCsv ? 'text/csv' : type;
}

/** Why it cannot be what it is declared to be, or cannot be read at all, as a sentence; else null. */
export function contradictionOf(file: DocumentFile, takesPictures = true): string | null {
  const decided = decideType(file, takesPictures);
  return 'problem' in decided ? new UnreadableDocument(file.name, decided.problem).message : null;
}

const sendOneOf = (takesPictures: boolean): string =>
  `Send one of: ${readableTypes.filter((type) => takesPictures || formatOf(type) !== 'image').join(', ')}.`;

/** For text that was not known as such. */
const howText =
  'Text is known by its name or type and read as UTF-8 with hardly a zero byte (U+0000), or as UTF-16 with a byte order mark.';

function unsupported(mediaType: string, takesPictures: boolean): string {
  const what = mediaType === 'unknown' ? 'it is of a kind that nobody knows' : `it is ${said(mediaType)}`;
  const remedy =
    mediaType === 'application/x-ole-storage'
      ? 'Save it as .docx or PDF, without a password.'
      : sendOneOf(takesPictures);
  return `${what}, which cannot be read. ${remedy}${mediaType === 'unknown' ? ` ${howText}` : ''}`;
}

function contradiction(mediaType: string, seen: string): string {
  const remedy = 'Send it with its true type.';
  if (seen === 'text') return `it is declared as ${mediaType}, but holds plain text. ${remedy}`;
  if (seen === 'unknown')
    return `it is declared as ${mediaType}, but holds other bytes. ${remedy} ${howText}`;
  return `it is declared as ${mediaType}, but its first bytes are those of ${said(seen)}. ${remedy}`;
}

function said(mediaType: string): string {
  if (mediaType === programType) return 'a program';
  return mediaType === 'application/x-ole-storage'
    ? 'an old or password-protected Office file'
    : mediaType.replace(/[^\x21-\x7e]/g, '').slice(0, 100);
}
