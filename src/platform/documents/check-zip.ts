// Decompresses the entries of a zip file one by one to detect one that expands to too much (a zip bomb).
import { inflateRawSync } from 'node:zlib';
import { formatBytes } from '../../core/text.ts';

/** A document of 1,000 pages unpacks to some 20 MB. */
const maxUnpackedBytes = 67_108_864;
const maxEntries = 10_000;

const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;
const endLength = 22;
const entryLength = 46;
const maxCommentLength = 65_535;
const stored = 0;
const deflated = 8;
/** The value is in the 64-bit record: no document is so large. */
const zip64Marker = 0xffff_ffff;

const broken = 'it is damaged: its zip structure cannot be read. Save it once more and send that.';
const tooLarge = `it unpacks to more than ${formatBytes(maxUnpackedBytes)}. Split it.`;

/** The problem, as a clause that follows "the file …"; null when it can be decompressed safely. */
export function zipProblem(bytes: Uint8Array): string | null {
  const zip = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return unpackedProblem(zip);
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code === 'ERR_BUFFER_TOO_LARGE') return tooLarge;
    return broken;
  }
}

function unpackedProblem(zip: Buffer): string | null {
  const end = findEnd(zip);
  const count = zip.readUInt16LE(end + 10);
  if (count > maxEntries) return tooLarge;
  let at = zip.readUInt32LE(end + 16);
  let left = maxUnpackedBytes;
  for (let index = 0; index < count; index++) {
    if (zip.readUInt32LE(at) !== entrySignature) return broken;
    const isEncrypted = (zip.readUInt16LE(at + 8) & 1) === 1;
    if (isEncrypted) return 'it is protected with a password. Save it without one and send it again.';
    left -= unpackedLength(zip, at, left);
    if (left < 0) return tooLarge;
    at += entryLength + zip.readUInt16LE(at + 28) + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  return null;
}

/** Decompresses, because the size in the entry may be wrong. Throws when it is larger than `maxLength`. */
function unpackedLength(zip: Buffer, entry: number, maxLength: number): number {
  const method = zip.readUInt16LE(entry + 10);
  const packed = zip.readUInt32LE(entry + 20);
  const local = zip.readUInt32LE(entry + 42);
  if (packed === zip64Marker || local === zip64Marker) throw new RangeError('64 bits');
  const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
  const data = zip.subarray(start, start + packed);
  if (method === stored) return data.byteLength;
  if (method !== deflated) throw new RangeError('unknown method');
  return packed === 0 ? 0 : inflateRawSync(data, { maxOutputLength: Math.max(1, maxLength) }).byteLength;
}

function findEnd(zip: Buffer): number {
  const first = Math.max(0, zip.byteLength - endLength - maxCommentLength);
  for (let at = zip.byteLength - endLength; at >= first; at--)
    if (zip.readUInt32LE(at) === endSignature) return at;
  throw new RangeError('no end of a zip file');
}
