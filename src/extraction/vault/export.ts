// Exports a vault into a folder with one JSON file per item, for git: only changed files are written.
import { hash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, messageOf } from '../../core/index.ts';
import { canonicalJson, parseJson } from './canonical-json.ts';
import type { VaultReader } from './reader.ts';

export interface ExportReport {
  readonly written: number;
  readonly unchanged: number;
  /** Files of items that no longer exist. */
  readonly removed: number;
}

/** Marks a folder as an export: `.json` files in its type folders may be removed. */
const markerName = 'vault-export.json';

/**
 * `DIR/<type>/<id>.json`, keys sorted. Fails with CONFLICT, changing nothing, when the folder has the export of another
 * source, or other files in the places of an export. `signal` stops it between two files.
 */
export async function exportVault(
  reader: VaultReader,
  folder: string,
  signal?: AbortSignal,
): Promise<ExportReport> {
  const types = reader.types().map(({ type }) => type);
  try {
    await claim(folder, reader.source(), types);
    const report = { written: 0, unchanged: 0, removed: 0 };
    for (const type of types) await exportType(reader, type, join(folder, fileNameOf(type)), report, signal);
    return report;
  } catch (error) {
    if (!isFileError(error)) throw error;
    throw new CoreError('CONFLICT', `Cannot export to ${folder}: ${messageOf(error)}. Name another folder.`, {
      cause: error,
    });
  }
}

const isFileError = (error: unknown): boolean =>
  error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === 'string';

async function claim(folder: string, source: string | null, types: readonly string[]): Promise<void> {
  const marker = join(folder, markerName);
  const text = await readIfThere(marker);
  if (text === undefined) {
    for (const type of types)
      if ((await listIfThere(join(folder, fileNameOf(type)))).length > 0)
        throw new CoreError(
          'CONFLICT',
          `${join(folder, fileNameOf(type))} holds files that no export wrote. Name another folder; nothing was changed.`,
        );
    await mkdir(folder, { recursive: true });
    await writeFileAtomic(marker, `${canonicalJson({ format: 1, source }, 2)}\n`);
    return;
  }
  const holds = sourceIn(text);
  if (holds !== source)
    throw new CoreError(
      'CONFLICT',
      `${folder} holds the export of ${JSON.stringify(holds)}, not of "${source}". Name another folder; nothing was changed.`,
    );
}

function sourceIn(marker: string): unknown {
  try {
    return (JSON.parse(marker) as { source?: unknown }).source;
  } catch {
    return undefined;
  }
}

async function exportType(
  reader: VaultReader,
  type: string,
  folder: string,
  report: { written: number; unchanged: number; removed: number },
  signal: AbortSignal | undefined,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const names = await listIfThere(folder);
  // Unfinished files of a killed export.
  for (const name of names.filter(isUnfinished)) await rm(join(folder, name));
  const stale = new Set(names.filter((name) => name.endsWith('.json')));
  for (const { id } of everyItem(reader, type)) {
    signal?.throwIfAborted();
    const name = `${fileNameOf(id)}.json`;
    stale.delete(name);
    const text = `${canonicalJson(parseJson(reader.data(type, id) ?? 'null'), 2)}\n`;
    if ((await readIfThere(join(folder, name))) === text) report.unchanged += 1;
    else {
      await writeFileAtomic(join(folder, name), text);
      report.written += 1;
    }
  }
  for (const name of stale) await rm(join(folder, name));
  report.removed += stale.size;
}

function* everyItem(reader: VaultReader, type: string) {
  for (let after = ''; ;) {
    const items = reader.items(type, { limit: 1_000, after });
    yield* items;
    const last = items.at(-1);
    if (!last) return;
    after = last.id;
  }
}

const unfinished = '.new';
const isUnfinished = (name: string): boolean => name.endsWith(`.json${unfinished}`);

/** Concurrent readers see the old or the new content, nothing in between. */
async function writeFileAtomic(file: string, text: string): Promise<void> {
  await writeFile(file + unfinished, text);
  await rename(file + unfinished, file);
}

async function readIfThere(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(ignoreMissing);
}

async function listIfThere(folder: string): Promise<readonly string[]> {
  return (await readdir(folder).catch(ignoreMissing)) ?? [];
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

/** Reserved by Windows with any extension. */
const reserved = /^(con|prn|aux|nul|com\d|lpt\d)$/;
const plain = /^[a-z0-9][a-z0-9_-]{0,79}$/;
const maxPrefixLength = 40;
const hashDigits = 20;

/**
 * A file name for an id, valid on every file system and unique: the id itself if it is short and of lower-case letters,
 * digits, `-` and `_`; otherwise its readable part and a hash: `sales-orders~0123456789abcdef0123`. Lower case only,
 * because some file systems ignore case.
 */
export function fileNameOf(id: string): string {
  if (plain.test(id) && !reserved.test(id)) return id;
  const readable = id
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, maxPrefixLength);
  return `${readable}~${hash('sha256', id, 'hex').slice(0, hashDigits)}`;
}
