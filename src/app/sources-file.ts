// The sources file: a YAML list of sources as they are registered over HTTP.
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';
import { CoreError, messageOf } from '../core/index.ts';
import type { SourceInput } from '../extraction/index.ts';
import { sourceInput } from '../extraction/index.ts';

const sourceList = z
  .array(sourceInput, 'must be a list of sources')
  .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, 'holds a name twice');

/** Fails with CONFIG_INVALID, naming every problem. An empty file holds no sources. */
export async function readSourcesFile(file: string): Promise<readonly SourceInput[]> {
  const parsed = sourceList.safeParse((await contentOf(file)) ?? []);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`,
  );
  throw invalid(file, problems.join('; '));
}

async function contentOf(file: string): Promise<unknown> {
  try {
    return parse(await readFile(file, 'utf8')) as unknown;
  } catch (error) {
    // Of a YAML error only the first line: the others show the text itself.
    throw invalid(file, messageOf(error).split('\n')[0] ?? '', error);
  }
}

function invalid(file: string, problem: string, cause?: unknown): CoreError {
  return new CoreError(
    'CONFIG_INVALID',
    `The sources file ${file} (extraction.sourcesFile) cannot be used: ${problem}.`,
    { cause },
  );
}
