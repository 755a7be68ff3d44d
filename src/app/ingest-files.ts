// Files of the machine where a command runs, as documents to ingest.
import { readFile, realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CoreError, kindOf } from '../core/index.ts';
import type { OnSkipped } from '../knowledge/folders/folder-files.ts';
import { filesBelow } from '../knowledge/folders/folder-files.ts';

/** The body of an ingest request. */
export interface FileDocument {
  readonly file: { readonly name: string; readonly media_type: string; readonly content: string };
  readonly source_system: 'files';
  readonly source_id: string;
}

/**
 * A file, or all documents below a folder. Hidden files are skipped, links and pipes are skipped and reported,
 * unreadable folders are yielded with the reason. Fails with INPUT_INVALID.
 */
export async function* documentPaths(
  path: string,
  cwd: string,
  onSkipped?: OnSkipped,
): AsyncGenerator<{ readonly path: string; readonly problem?: string }> {
  const whole = await realpath(resolve(cwd, path)).catch(() => null);
  if (whole === null)
    throw new CoreError('INPUT_INVALID', `There is no file or folder ${resolve(cwd, path)}. Check the path.`);
  if ((await stat(whole)).isDirectory()) {
    yield* filesBelow(whole, 0, onSkipped);
  } else yield { path: whole };
}

/** Read on demand: a folder may be larger than memory. Fails with INPUT_INVALID when it is too large. */
export async function fileDocument(path: string, maxBytes: number): Promise<FileDocument> {
  const { size } = await stat(path).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  if (size > maxBytes)
    throw new CoreError(
      'INPUT_INVALID',
      `${path} has ${size.toLocaleString('en')} bytes; at most ${maxBytes.toLocaleString('en')} are accepted. Split it.`,
    );
  const bytes = await readFile(path).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  const content = bytes.toString('base64');
  return { file: { name: path, media_type: '', content }, source_system: 'files', source_id: path };
}

const unreadable = (path: string, cause: unknown): CoreError =>
  new CoreError('INPUT_INVALID', `${path} cannot be read (${kindOf(cause)}). Check its permissions.`, {
    cause,
  });
