// How whoever reads a hint can start this program again: in a checkout nothing is installed.
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shellWord } from '../core/index.ts';
import type { CliIo } from './ports.ts';

const source = fileURLToPath(import.meta.url);

/** The words that start this program, as whoever started it would write them. */
export function invocation({ env, cwd }: Pick<CliIo, 'env' | 'cwd'>): string {
  if (env['npm_lifecycle_event'] === 'npx') return 'npx headworks';
  if (env['npm_package_name'] === 'headworks') return 'npm run -s headworks --';
  if (!source.endsWith('.ts')) return 'headworks';
  return `node ${shellWord(shortPath(cwd, join(dirname(source), 'main.ts')))}`;
}

/** A folder as one word, relative where that is shorter. */
export const folderWord = ({ cwd }: Pick<CliIo, 'cwd'>, folder: string): string =>
  shellWord(shortPath(cwd, folder));

function shortPath(from: string, path: string): string {
  const short = relative(from, path);
  return short === '' || short.startsWith('..') ? path : short;
}
