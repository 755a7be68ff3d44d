// What the first bytes of a file say it is.
import { isUtf8 } from 'node:buffer';
import { docxType } from './media-types.ts';

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
