// What the first bytes of a file say it is.
import { docxType } from './media-types.ts';

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
  ['application/x-executable', '\x7fELF'],
  ['video/mp4', 'ftyp', 4],
  ['application/rtf', '{\\rtf'],
];

/** PDFs may have something before their first line; readers look this far. */
const pdfWithin = 1_024;
/** Binary files show it early. */
const textWithin = 8_192;

/** A media type; `text` when it could be any text; `unknown` when it is binary and nobody knows it. */
export function sniff(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, textWithin));
  for (const [type, signature, offset = 0] of signatures)
    if (head.toString('latin1', offset, offset + signature.length) === signature) return type;
  if (head.subarray(0, pdfWithin).includes('%PDF-')) return 'application/pdf';
  if (head.toString('latin1', 0, 2) === 'PK' && (head[2] ?? 9) < 9) return zipKind(bytes);
  const isUtf16 = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
  return head.includes(0) && !isUtf16 ? 'unknown' : 'text';
}

/** Word documents are zip files with a folder `word`. */
function zipKind(bytes: Uint8Array): string {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return whole.includes('word/') && whole.includes('[Content_Types].xml') ? docxType : 'application/zip';
}
