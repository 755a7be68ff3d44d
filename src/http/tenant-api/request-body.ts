// Receives the body of a request within its limits of size, time and memory, and parses it: a form with files, or JSON.
import type { IncomingMessage } from 'node:http';
import { Busboy } from '@fastify/busboy';
import type { BusboyFileStream, BusboyInstance } from '@fastify/busboy';
import type { Clock } from '../../core/index.ts';
import {
  abortable,
  CoreError,
  formatBytes,
  hasMoreValues,
  linkSignals,
  maxJsonValues,
  messageOf,
  onAbort,
} from '../../core/index.ts';
import type { ExecutionInput, UploadedFile, UploadLimits } from '../../tenancy/index.ts';
import { DeploymentError } from '../../tenancy/index.ts';
import { HttpError, tooManyValues } from '../errors.ts';

const maxFields = 100;
const maxFieldBytes = 1_048_576;
const maxNameLength = 255;

export type BodyKind = 'none' | 'json' | 'form';

/** Decided from the headers alone: a rejection here costs neither a slot nor the upload. */
export function bodyKindOf({ headers }: IncomingMessage, limits: UploadLimits): BodyKind {
  const length = headers['content-length'];
  if (Number(length ?? 0) > limits.maxBodyBytes)
    throw tooLarge(`The request is larger than ${formatBytes(limits.maxBodyBytes)}.`);
  if (headers['transfer-encoding'] === undefined && (length === undefined || length === '0')) return 'none';
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw unsupported('The body is compressed, which is not supported.');
  const [type, ...attributes] = (headers['content-type'] ?? '').toLowerCase().split(';');
  if (type?.trim() === 'multipart/form-data') return 'form';
  if (type?.trim() === 'application/json') {
    if (attributes.some(isOtherCharset)) throw unsupported('The body is JSON in another charset than UTF-8.');
    return 'json';
  }
  throw unsupported('The content type of the body is not supported.');
}

const isOtherCharset = (attribute: string): boolean =>
  /^\s*charset\s*=/.test(attribute) && !/=\s*"?utf-?8"?\s*$/.test(attribute);

const unsupported = (what: string): HttpError =>
  new HttpError(
    'HTTP_CONTENT_TYPE_UNSUPPORTED',
    `${what} Send files as multipart/form-data, or JSON as application/json.`,
  );

/**
 * All fields are parameters, including `timeout`. Fails with INPUT_INVALID, DEPLOYMENT_UPLOAD_TOO_LARGE,
 * DEPLOYMENT_UPLOAD_TOO_SLOW, DEPLOYMENT_UPLOADS_FULL or CANCELED.
 */
export async function readInput(
  kind: BodyKind,
  request: IncomingMessage,
  receiving: Receiving,
): Promise<ExecutionInput> {
  if (kind === 'none') return { parameters: {}, files: [] };
  if (kind === 'json') return { parameters: await readJson(request, receiving), files: [] };
  return readForm(request, receiving);
}

async function readJson(
  request: IncomingMessage,
  receiving: Receiving,
): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  await receiveBody(request, receiving, (chunk) => void chunks.push(chunk));
  const value = parseJson(Buffer.concat(chunks));
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CoreError('INPUT_INVALID', 'The body must be one JSON object.');
  if (Object.keys(value).length > maxFields) throw tooManyFields();
  return value as Record<string, unknown>;
}

function parseJson(bytes: Buffer): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (hasMoreValues(text, maxJsonValues)) throw tooManyValues();
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof HttpError) throw error;
    throw new CoreError('INPUT_INVALID', 'The body is not valid JSON.');
  }
}

/** A field that occurs several times is a list. */
async function readForm(request: IncomingMessage, receiving: Receiving): Promise<ExecutionInput> {
  const { limits } = receiving;
  const parser = createParser(request.headers['content-type'] ?? '', limits);
  const files: UploadedFile[] = [];
  const fields = new Map<string, string[]>();
  const stop = linkSignals(receiving.signal);
  const fail = (error: Error) => stop.abort(error);
  const finished = new Promise<void>((resolve) => parser.on('finish', resolve));
  parser.on('file', (_field, stream: BusboyFileStream, name, _encoding, mediaType) =>
    collect(stream, name, mediaType, limits, files, fail),
  );
  parser.on('field', (name, value, isNameCut, isValueCut) => {
    if (isNameCut || isValueCut) fail(tooLarge('A field of the form is too large.'));
    else fields.set(name, [...(fields.get(name) ?? []), value]);
  });
  parser.on('filesLimit', () => fail(tooLarge(`There are more than ${limits.maxFiles} files.`)));
  parser.on('fieldsLimit', () => fail(tooManyFields()));
  parser.on('error', (error) => fail(malformed(error)));
  try {
    await receiveBody(request, { ...receiving, signal: stop.signal }, (chunk) => void parser.write(chunk));
    parser.end();
    await abortable(finished, stop.signal);
  } finally {
    stop.dispose();
  }
  const parameters = [...fields].map(([name, values]) => [name, values.length === 1 ? values[0] : values]);
  return { parameters: Object.fromEntries(parameters) as ExecutionInput['parameters'], files };
}

function createParser(contentType: string, limits: UploadLimits): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: {
        fieldNameSize: maxNameLength,
        fieldSize: maxFieldBytes,
        fields: maxFields,
        fileSize: limits.maxFileBytes,
        files: limits.maxFiles,
      },
    });
  } catch (error) {
    throw malformed(error);
  }
}

function collect(
  stream: BusboyFileStream,
  name: string | undefined,
  mediaType: string,
  limits: UploadLimits,
  files: UploadedFile[],
  fail: (error: Error) => void,
): void {
  const chunks: Buffer[] = [];
  const shown = cleanName(name);
  // Removing characters could turn it into the name of another document.
  if (name && shown !== name)
    fail(
      malformed(
        `the name of the file "${shown.slice(0, 50)}…" has more than ${maxNameLength} characters, or characters that a name must not have`,
      ),
    );
  // It is stored as sent, and no store accepts U+0000.
  if (/\p{Cc}/u.test(mediaType))
    fail(malformed(`the media type of the file "${shown}" contains control characters`));
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('limit', () =>
    fail(tooLarge(`The file "${shown}" is larger than ${formatBytes(limits.maxFileBytes)}.`)),
  );
  stream.on('error', (error: Error) => fail(malformed(error)));
  stream.on('end', () =>
    files.push({ name: shown, mediaType: mediaType.toLowerCase(), bytes: Buffer.concat(chunks) }),
  );
}

/** The name without control characters and lone surrogates; `file` when there is none. */
function cleanName(name: string | undefined): string {
  return (
    (name ?? '')
      .replace(/\p{Cc}/gu, '')
      .toWellFormed()
      .slice(0, maxNameLength) || 'file'
  );
}

function malformed(error: unknown): CoreError {
  return new CoreError('INPUT_INVALID', `The form is malformed: ${messageOf(error).replace(/\.$/, '')}.`);
}

/* ---- receiving ---- */

const retryAfterMs = 2_000;
/** The minimum of bytes per second applies to this time. */
const windowMs = 5_000;
/** After a stall of this process, bytes that arrived meanwhile are counted before the upload is aborted. */
const recheckMs = 250;

type UploadShare = ReturnType<UploadMemory['open']>;

/** Bounds the memory of all bodies that are being received; each is kept until it is stored. */
export class UploadMemory {
  readonly #maxBytes: number;
  #held = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes in use. */
  get held(): number {
    return this.#held;
  }

  /**
   * The memory of one request until its disposal. For a body of this declared size; 0 when it is not declared. Nothing is
   * reserved: a request that declares much and sends little does not keep others out. Fails, as does `take`, with
   * DEPLOYMENT_UPLOADS_FULL.
   */
  open(declaredBytes: number) {
    this.#check(Math.max(declaredBytes, 1));
    let taken = 0;
    return {
      take: (bytes: number): void => {
        this.#check(bytes);
        taken += bytes;
        this.#held += bytes;
      },
      [Symbol.dispose]: (): void => {
        this.#held -= taken;
        taken = 0;
      },
    };
  }

  #check(bytes: number): void {
    if (this.#held + bytes <= this.#maxBytes) return;
    throw new DeploymentError(
      'DEPLOYMENT_UPLOADS_FULL',
      'The memory for uploads of this server is exhausted. Please try again in a few moments.',
      { isRetryable: true, retryAfterMs },
    );
  }
}

export interface Receiving {
  readonly clock: Clock;
  readonly limits: UploadLimits;
  readonly memory: UploadShare;
  /** Aborts when the caller disconnects. */
  readonly signal: AbortSignal;
}

const tooManyFields = (): DeploymentError => tooLarge(`There are more than ${maxFields} fields.`);

function tooLarge(what: string): DeploymentError {
  return new DeploymentError('DEPLOYMENT_UPLOAD_TOO_LARGE', `${what} Send less at once.`);
}

/**
 * Resolves when the whole body has arrived. Fails with DEPLOYMENT_UPLOAD_TOO_SLOW when it takes too long or arrives too
 * slowly: it holds a slot meanwhile. An error of `onChunk` ends it; the rest is left unread.
 */
function receiveBody(
  request: IncomingMessage,
  { clock, limits, memory, signal }: Receiving,
  onChunk: (chunk: Buffer) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const { maxBodyBytes, uploadTimeoutSeconds, minUploadBytesPerSecond } = limits;
  let received = 0;
  let bytesInWindow = 0;
  const end = (error?: unknown): void => {
    cancelDeadline();
    cancelCheck();
    stopListening();
    request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
    // Without a listener a caller that disconnects now would end the process.
    request.on('error', () => undefined);
    if (error === undefined) resolve();
    else reject(error instanceof Error ? error : new CoreError('CANCELED', 'The request was aborted.'));
  };
  const onData = (chunk: Buffer) => {
    bytesInWindow += chunk.byteLength;
    received += chunk.byteLength;
    try {
      if (received > maxBodyBytes) throw tooLarge(`The request is larger than ${formatBytes(maxBodyBytes)}.`);
      memory.take(chunk.byteLength);
      onChunk(chunk);
    } catch (error) {
      end(error);
    }
  };
  const onEnd = () => end();
  const onGone = () =>
    end(new CoreError('CANCELED', 'The caller disconnected before its request was complete.'));
  const tooSlow = (what: string) =>
    end(
      new DeploymentError(
        'DEPLOYMENT_UPLOAD_TOO_SLOW',
        `The request's body ${what}. Send it faster, or less.`,
        { isRetryable: true },
      ),
    );
  const checkSpeed = (isRecheck: boolean): void => {
    if (bytesInWindow >= (minUploadBytesPerSecond * windowMs) / 1_000) {
      bytesInWindow = 0;
      cancelCheck = clock.after(windowMs, () => checkSpeed(false));
    } else if (isRecheck)
      tooSlow(`arrived more slowly than the minimum of ${minUploadBytesPerSecond} bytes per second`);
    else cancelCheck = clock.after(recheckMs, () => checkSpeed(true));
  };
  const cancelDeadline = clock.after(uploadTimeoutSeconds * 1_000, () =>
    tooSlow(`did not arrive within ${uploadTimeoutSeconds} seconds`),
  );
  let cancelCheck = clock.after(windowMs, () => checkSpeed(false));
  let stopListening: () => void = () => undefined;
  request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  stopListening = onAbort(signal, end);
  return promise;
}
