// Parses a form: its files and fields.
import type { IncomingMessage } from 'node:http';
import { Busboy } from '@fastify/busboy';
import type { BusboyFileStream, BusboyInstance } from '@fastify/busboy';
import { abortable, CoreError, formatBytes, linkSignals, messageOf } from '../../core/index.ts';
import type { UploadLimits, UploadedFile } from '../../tenancy/index.ts';
import type { Receiving } from './receive-body.ts';
import { receiveBody, tooLarge } from './receive-body.ts';

export interface Form {
  /** A field that occurs several times is a list. */
  readonly fields: Readonly<Record<string, string | readonly string[]>>;
  readonly files: readonly UploadedFile[];
}

const maxFields = 100;
const maxFieldBytes = 1_048_576;
const maxNameLength = 255;

/** Fails with INPUT_INVALID, DEPLOYMENT_UPLOAD_TOO_LARGE, DEPLOYMENT_UPLOAD_TOO_SLOW, CANCELED. */
export async function readMultipart(
  request: IncomingMessage,
  contentType: string,
  receiving: Receiving,
): Promise<Form> {
  const { limits } = receiving;
  const parser = createParser(contentType, limits);
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
  parser.on('fieldsLimit', () => fail(tooLarge(`There are more than ${maxFields} fields.`)));
  parser.on('error', (error) => fail(malformed(error)));
  try {
    await receiveBody(request, { ...receiving, signal: stop.signal }, (chunk) => void parser.write(chunk));
    parser.end();
    await abortable(finished, stop.signal);
  } finally {
    stop.dispose();
  }
  return { fields: Object.fromEntries([...fields].map(oneOrMany)), files };
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

/** Without control characters and lone surrogates; `file` when there is no name. */
function cleanName(name: string | undefined): string {
  return (
    (name ?? '')
      .replace(/\p{Cc}/gu, '')
      .toWellFormed()
      .slice(0, maxNameLength) || 'file'
  );
}

function oneOrMany([name, values]: [string, string[]]): [string, string | readonly string[]] {
  const [first] = values;
  return [name, values.length === 1 && first !== undefined ? first : values];
}

function malformed(error: unknown): CoreError {
  return new CoreError('INPUT_INVALID', `The form is malformed: ${messageOf(error).replace(/\.$/, '')}.`);
}
