// Unpacks a zip file's entries one by one to see that they are no larger than they may be: a bomb is found here.
import { inflateRawSync } from 'node:zlib';

/** A document of 1,000 pages unpacks to some 20 MB. */
const largestUnpacked = 67_108_864;
const mostEntries = 10_000;

const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;
const endLength = 22;
const entryLength = 46;
const longestComment = 65_535;
const stored = 0;
const deflated = 8;
/** "See the 64-bit record": no document is so large. */
const isIn64Bits = 0xffff_ffff;

const broken = 'it is damaged: its zip structure cannot be read. Save it anew and send it again.';
const tooLarge = `it unpacks to more than ${largestUnpacked / 1_048_576} MB. Split it.`;

/** What is wrong with it, as a clause that follows "the file …"; null when it can be unpacked without harm. */
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
  if (count > mostEntries) return tooLarge;
  let at = zip.readUInt32LE(end + 16);
  let left = largestUnpacked;
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

/** Really unpacked: what the entry says of itself may be a lie. Throws when it is larger than `atMost`. */
function unpackedLength(zip: Buffer, entry: number, atMost: number): number {
  const method = zip.readUInt16LE(entry + 10);
  const packed = zip.readUInt32LE(entry + 20);
  const local = zip.readUInt32LE(entry + 42);
  if (packed === isIn64Bits || local === isIn64Bits) throw new RangeError('64 bits');
  const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
  const data = zip.subarray(start, start + packed);
  if (method === stored) return data.byteLength;
  if (method !== deflated) throw new RangeError('unknown method');
  return packed === 0 ? 0 : inflateRawSync(data, { maxOutputLength: Math.max(1, atMost) }).byteLength;
}

function findEnd(zip: Buffer): number {
  const first = Math.max(0, zip.byteLength - endLength - longestComment);
  for (let at = zip.byteLength - endLength; at >= first; at--)
    if (zip.readUInt32LE(at) === endSignature) return at;
  throw new RangeError('no end of a zip file');
}
