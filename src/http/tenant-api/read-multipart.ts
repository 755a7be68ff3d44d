// Reads a form: its files and its fields.
import type { IncomingMessage } from 'node:http';
import { Busboy } from '@fastify/busboy';
import type { BusboyFileStream, BusboyInstance } from '@fastify/busboy';
import { abortable, CoreError, linkSignals, messageOf } from '../../core/index.ts';
import type { UploadLimits, UploadedFile } from '../../tenancy/index.ts';
import type { Receiving } from './receive.ts';
import { receive, tooLarge } from './receive.ts';
import { sizeText } from './size-text.ts';

export interface Form {
  /** A field that comes several times is a list. */
  readonly fields: Readonly<Record<string, string | readonly string[]>>;
  readonly files: readonly UploadedFile[];
}

const mostFields = 100;
const largestFieldBytes = 1_048_576;
const longestName = 255;

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
  parser.on('fieldsLimit', () => fail(tooLarge(`There are more than ${mostFields} fields.`)));
  parser.on('error', (error) => fail(malformed(error)));
  try {
    await receive(request, { ...receiving, signal: stop.signal }, (piece) => void parser.write(piece));
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
        fieldNameSize: longestName,
        fieldSize: largestFieldBytes,
        fields: mostFields,
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
  const pieces: Buffer[] = [];
  const shown = cleanName(name);
  // What is dropped, or cut off, could make it the name of another document.
  if (name && shown !== name)
    fail(
      malformed(
        `the name of the file "${shown.slice(0, 50)}…" has more than ${longestName} characters, or some that no name can have`,
      ),
    );
  // It is kept as it came, and no store takes U+0000.
  if (/\p{Cc}/u.test(mediaType))
    fail(malformed(`the media type of the file "${shown}" holds control characters`));
  stream.on('data', (piece: Buffer) => pieces.push(piece));
  stream.on('limit', () =>
    fail(tooLarge(`The file "${shown}" is larger than ${sizeText(limits.maxFileBytes)}.`)),
  );
  stream.on('error', (error: Error) => fail(malformed(error)));
  stream.on('end', () =>
    files.push({ name: shown, mediaType: mediaType.toLowerCase(), bytes: Buffer.concat(pieces) }),
  );
}

/** A name to show, without what no store or terminal wants in one; `file` where there is none. */
function cleanName(name: string | undefined): string {
  return (
    (name ?? '')
      .replace(/\p{Cc}/gu, '')
      .toWellFormed()
      .slice(0, longestName) || 'file'
  );
}

function oneOrMany([name, values]: [string, string[]]): [string, string | readonly string[]] {
  const [first] = values;
  return [name, values.length === 1 && first !== undefined ? first : values];
}

function malformed(error: unknown): CoreError {
  return new CoreError('INPUT_INVALID', `The form cannot be read: ${messageOf(error).replace(/\.$/, '')}.`);
}
