// Decides what a file is, by what was declared, its ending and its first bytes; or says why that cannot be.
import { canonicalType, formatOf, isUndeclared, readableTypes, typeByExtension } from './media-types.ts';
import type { DocumentFile, DocumentFormat } from './ports.ts';
import { UnreadableDocument } from './ports.ts';
import { programType, sniff, textWithZeros } from './sniff.ts';

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
