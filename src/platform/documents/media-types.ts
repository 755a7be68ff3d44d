// Media types: by name, by extension and by content.
import { isUtf8 } from 'node:buffer';
import { extname } from 'node:path';

export interface DocumentFile {
  readonly name: string;
  /** As declared; empty or application/octet-stream when not declared. */
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** The content of a document: text, or an image for models with vision. */
export type DocumentContent =
  | { readonly kind: 'text'; readonly text: string; readonly warnings: readonly string[] }
  | { readonly kind: 'image'; readonly dataUrl: string };

/** How a document is read. */
export type DocumentFormat = 'text' | 'html' | 'pdf' | 'docx' | 'eml' | 'image';

/** A document that cannot be read: the message has the file, the reason, and what to do. Not retryable. */
export class UnreadableDocument extends Error {
  override readonly name = 'UnreadableDocument';

  constructor(fileName: string, problem: string, cause?: unknown) {
    super(
      `The file "${shownName(fileName)}" cannot be read: ${problem}`,
      cause === undefined ? undefined : { cause },
    );
  }
}

const maxNameLength = 100;

/** A file name for messages: without control characters, truncated. */
export function shownName(name: string): string {
  const clean = name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '');
  return clean.length > maxNameLength ? `${clean.slice(0, maxNameLength)}…` : clean;
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

/** Other names that browsers and mail programs use. */
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

/** All supported types, without aliases. Other text/* types are read as plain text. */
export const readableTypes: readonly string[] = Object.keys(known);

export function formatOf(mediaType: string): DocumentFormat | undefined {
  return Object.hasOwn(known, mediaType) ? known[mediaType]?.format : undefined;
}

export function typeByExtension(name: string): string | undefined {
  return byExtension.get(extname(name).toLowerCase());
}

/** Whether no specific type is declared. */
export function isUndeclared(mediaType: string): boolean {
  const essence = essenceOf(mediaType);
  return essence === '' || essence === 'application/octet-stream' || essence === 'binary/octet-stream';
}

/** Resolves aliases and suffixes; an unknown type is returned unchanged. */
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
  // Word, Excel and Outlook before 2007, and newer files with a password.
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

/** PDFs may have other bytes before their header; readers search this far. */
const pdfProbeBytes = 1_024;
/** Enough to recognize a binary file. */
const textProbeBytes = 8_192;

/** UTF-8 with a few zero bytes: text if it is declared as text. */
export const textWithNulls = 'text-with-zeros';

/** A media type; `text` or textWithNulls for any text; `unknown` for unknown binary content. */
export function sniff(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, textProbeBytes));
  for (const [type, signature, offset = 0] of signatures)
    if (head.toString('latin1', offset, offset + signature.length) === signature) return type;
  if (head.subarray(0, pdfProbeBytes).includes('%PDF-')) return 'application/pdf';
  if (head.toString('latin1', 0, 2) === 'PK' && (head[2] ?? 9) < 9) return zipKind(bytes);
  // Programs for DOS and Windows; text may also begin with these letters.
  if (head.toString('latin1', 0, 2) === 'MZ' && isNotAscii(head[2] ?? 0x20)) return programType;
  const isUtf16 = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
  if (isUtf16) return 'text';
  const controls = head.reduce((count, byte) => count + Number(isControl(byte)), 0);
  if (controls > Math.max(maxControls, head.length / 20)) return 'unknown';
  if (!head.includes(0)) return 'text';
  // UTF-16 of Latin letters has a zero in every other byte; of other letters it has controls, or is not UTF-8.
  const zeros = head.reduce((count, byte) => count + Number(byte === 0), 0);
  return zeros <= head.length / 10 && isUtf8(bytes) ? textWithNulls : 'unknown';
}

/** Control characters that any text may have. */
const maxControls = 8;

/** Control characters other than white space and Escape, which no text has in any encoding. */
const isControl = (byte: number): boolean =>
  byte < 0x09 || (byte > 0x0d && byte < 0x20 && byte !== 0x1b) || byte === 0x7f;
const isNotAscii = (byte: number): boolean => isControl(byte) || byte >= 0x80;

/** Word documents are zip files with a folder `word`. */
function zipKind(bytes: Uint8Array): string {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return whole.includes('word/') && whole.includes('[Content_Types].xml') ? docxType : 'application/zip';
}

export type DecidedType =
  | { readonly mediaType: string; readonly format: DocumentFormat }
  /** A clause that follows "the file …": why it cannot be read, and what to do. */
  | { readonly problem: string };

/** Formats without a signature: any text may be one of them. */
const textual: ReadonlySet<DocumentFormat> = new Set<DocumentFormat>(['text', 'html', 'eml']);

/** Reads only the beginning of the file, or the names in a zip file. */
export function decideType(file: DocumentFile, acceptsImages = true): DecidedType {
  if (file.bytes.byteLength === 0) return { problem: 'it is empty; send a file with content.' };
  const seen = detectedType(file);
  const mediaType = isUndeclared(file.mediaType) ? guessed(file.name, seen) : declared(file, seen);
  const format = formatOf(mediaType);
  if (!format) return { problem: unsupported(mediaType, acceptsImages) };
  if (format === 'image' && !acceptsImages)
    return { problem: `it is an image, and only text is accepted here. ${sendOneOf(acceptsImages)}` };
  const isTrue = textual.has(format) ? seen === 'text' : seen === mediaType;
  return isTrue ? { mediaType, format } : { problem: contradiction(mediaType, seen) };
}

/** Zero bytes are accepted only if the file is declared as text: archives of texts have them, too. */
function detectedType({ name, mediaType, bytes }: DocumentFile): string {
  const seen = sniff(bytes);
  if (seen !== textWithNulls) return seen;
  const type = isUndeclared(mediaType) ? typeByExtension(name) : canonicalType(mediaType);
  const format = type === undefined ? undefined : formatOf(type);
  return format && textual.has(format) ? 'text' : 'unknown';
}

/** The content decides; the extension only distinguishes kinds of text. */
function guessed(name: string, seen: string): string {
  if (seen !== 'text') return seen;
  if (programs.test(name)) return programType;
  const byName = typeByExtension(name);
  const format = byName === undefined ? undefined : formatOf(byName);
  // A .pdf with text is reported as such; without a known extension it is plain text.
  return byName !== undefined && format ? byName : 'text/plain';
}

/** Extensions of programs, whatever the content. */
const programs = /\.(?:exe|dll|com|scr|msi|sys)$/i;

/** Windows declares .csv files as Excel sheets when Excel is installed. */
function declared({ name, mediaType }: DocumentFile, seen: string): string {
  const type = canonicalType(mediaType);
  const isCsv =
    type === 'application/vnd.ms-excel' && seen === 'text' && typeByExtension(name) === 'text/csv';
  return isCsv ? 'text/csv' : type;
}

/** Why the file cannot be read, or is not of its declared type, as a sentence; else null. */
export function contradictionOf(file: DocumentFile, acceptsImages = true): string | null {
  const decided = decideType(file, acceptsImages);
  return 'problem' in decided ? new UnreadableDocument(file.name, decided.problem).message : null;
}

const sendOneOf = (acceptsImages: boolean): string =>
  `Send one of: ${readableTypes.filter((type) => acceptsImages || formatOf(type) !== 'image').join(', ')}.`;

/** For text that was not recognized. */
const textHint =
  'Text is recognized by its name or type and must be UTF-8 with few zero bytes (U+0000), or UTF-16 with a byte order mark.';

function unsupported(mediaType: string, acceptsImages: boolean): string {
  const what = mediaType === 'unknown' ? 'it is of an unknown type' : `it is ${describeMediaType(mediaType)}`;
  const remedy =
    mediaType === 'application/x-ole-storage'
      ? 'Save it as .docx or PDF, without a password.'
      : sendOneOf(acceptsImages);
  return `${what}, which cannot be read. ${remedy}${mediaType === 'unknown' ? ` ${textHint}` : ''}`;
}

function contradiction(mediaType: string, seen: string): string {
  const remedy = 'Send it with its actual type.';
  if (seen === 'text') return `it is declared as ${mediaType}, but has plain text. ${remedy}`;
  if (seen === 'unknown')
    return `it is declared as ${mediaType}, but has other content. ${remedy} ${textHint}`;
  return `it is declared as ${mediaType}, but its first bytes are those of ${describeMediaType(seen)}. ${remedy}`;
}

function describeMediaType(mediaType: string): string {
  if (mediaType === programType) return 'a program';
  return mediaType === 'application/x-ole-storage'
    ? 'an old or password-protected Office file'
    : mediaType.replace(/[^\x21-\x7e]/g, '').slice(0, 100);
}
