// Parses the body of a request: a form with files, or JSON.
import type { IncomingMessage } from 'node:http';
import { CoreError, formatBytes } from '../../core/index.ts';
import type { ExecutionInput, UploadLimits } from '../../tenancy/index.ts';
import { HttpError } from '../errors.ts';
import { readMultipart } from './multipart.ts';
import type { Receiving } from './receive-body.ts';
import { receiveBody, tooLarge } from './receive-body.ts';

export type BodyKind = 'none' | 'json' | 'form';

/** From the headers alone: a rejection here costs neither a slot nor the upload. */
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

/** All fields are parameters, including `timeout`. */
export async function readInput(
  kind: BodyKind,
  request: IncomingMessage,
  receiving: Receiving,
): Promise<ExecutionInput> {
  if (kind === 'none') return { parameters: {}, files: [] };
  if (kind === 'json') return { parameters: await readJson(request, receiving), files: [] };
  const { fields, files } = await readMultipart(request, request.headers['content-type'] ?? '', receiving);
  return { parameters: fields, files };
}

async function readJson(
  request: IncomingMessage,
  receiving: Receiving,
): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  await receiveBody(request, receiving, (chunk) => void chunks.push(chunk));
  const value = parseJson(Buffer.concat(chunks));
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new CoreError('INPUT_INVALID', 'The body must be one JSON object.');
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new CoreError('INPUT_INVALID', 'The body is not valid JSON.');
  }
}
