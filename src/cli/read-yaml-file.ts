// A file that a command is given: YAML, of which JSON is a part.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { CoreError, messageOf } from '../core/index.ts';

/** Fails with INPUT_INVALID, naming the file. */
export async function readYamlFile(cwd: string, file: string): Promise<unknown> {
  const path = resolve(cwd, file);
  try {
    return parse(await readFile(path, 'utf8')) as unknown;
  } catch (error) {
    throw new CoreError(
      'INPUT_INVALID',
      `The file ${path} cannot be read as YAML: ${messageOf(error).split('\n')[0] ?? ''}`,
      { cause: error },
    );
  }
}
