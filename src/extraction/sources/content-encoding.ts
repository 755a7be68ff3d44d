// Compressed responses: gzip, deflate and br, bounded in size.
import { promisify } from 'node:util';
import { brotliDecompress, constants, gunzip, inflate, inflateRaw } from 'node:zlib';
import { HttpFailure, messageOf } from '../../core/index.ts';
import { FetchError } from '../errors.ts';

export const acceptedEncodings = 'gzip, deflate, br';

interface Bounds {
  readonly maxOutputLength: number;
  readonly finishFlush: number;
}

type Decoder = (bytes: Uint8Array, bounds: Bounds) => Promise<Uint8Array>;

const decoders: Readonly<Record<string, Decoder>> = {
  gzip: promisify<Uint8Array, Bounds, Uint8Array>(gunzip),
  'x-gzip': promisify<Uint8Array, Bounds, Uint8Array>(gunzip),
  deflate: (bytes, bounds) => (hasZlibHeader(bytes) ? inflated(bytes, bounds) : rawInflated(bytes, bounds)),
  br: (bytes, { maxOutputLength }) => brotliDecompressed(bytes, { maxOutputLength }),
  identity: (bytes) => Promise.resolve(bytes),
};

const inflated = promisify<Uint8Array, Bounds, Uint8Array>(inflate);
const rawInflated = promisify<Uint8Array, Bounds, Uint8Array>(inflateRaw);
const brotliDecompressed = promisify<Uint8Array, { maxOutputLength: number }, Uint8Array>(brotliDecompress);

/** Some servers send deflate without it. */
const hasZlibHeader = (bytes: Uint8Array): boolean => ((bytes[0] ?? 0) & 0x0f) === 8;

/**
 * The body without its content encodings. Fails with an HttpFailure (`too-large`) or with a FetchError (`malformed`, which
 * is retried). zlib decompresses in its own threads.
 */
export async function decode(
  bytes: Uint8Array,
  encoding: string | undefined,
  maxBytes: number,
  label: string,
): Promise<Uint8Array> {
  let decoded = bytes;
  for (const name of encodingsIn(encoding).toReversed()) {
    const decoder = decoders[name];
    if (!decoder) throw malformed(label, `is encoded as "${name}", which was not requested`);
    if (decoded.byteLength === 0) return decoded;
    try {
      decoded = await decoder(decoded, { maxOutputLength: maxBytes, finishFlush: constants.Z_FINISH });
    } catch (error) {
      if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE')
        throw new HttpFailure('too-large', `${label}: the response is larger than ${maxBytes} bytes.`, error);
      throw malformed(label, `cannot be decompressed (${name}: ${messageOf(error)})`);
    }
  }
  return decoded;
}

const encodingsIn = (header = ''): readonly string[] =>
  header
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');

function malformed(label: string, problem: string): FetchError {
  const failure = { kind: 'malformed', isTransient: false, status: 200, hint: undefined } as const;
  return new FetchError(failure, `The response to ${label} ${problem}.`);
}
