// Files of the machine where a command runs, as documents for knowledge.
import { readFile, realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CoreError } from '../core/index.ts';
import { filesBelow } from './folder-files.ts';

/** The body of a request that takes it in. */
export interface FileDocument {
  readonly file: { readonly name: string; readonly media_type: string; readonly content: string };
  readonly source_system: 'files';
  readonly source_id: string;
}

/** A file, or all documents below a folder; hidden files and links are left out. Fails with INPUT_INVALID. */
export async function* documentPaths(path: string, cwd: string): AsyncGenerator<string> {
  const whole = await realpath(resolve(cwd, path)).catch(() => null);
  if (whole === null) throw new CoreError('INPUT_INVALID', `There is no file or folder ${path}.`);
  if ((await stat(whole)).isDirectory()) {
    for await (const file of filesBelow(whole, 0)) yield file.path;
  } else yield whole;
}

/** Read when asked for: a folder may be larger than memory. Fails with INPUT_INVALID when it is too large. */
export async function fileDocument(path: string, maxBytes: number): Promise<FileDocument> {
  const { size } = await stat(path);
  if (size > maxBytes)
    throw new CoreError(
      'INPUT_INVALID',
      `${path} has ${size.toLocaleString('en')} bytes; at most ${maxBytes.toLocaleString('en')} are taken. Split it.`,
    );
  const content = (await readFile(path)).toString('base64');
  return { file: { name: path, media_type: '', content }, source_system: 'files', source_id: path };
}
