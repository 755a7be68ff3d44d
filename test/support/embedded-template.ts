// An embedded store that is initialized once per run and copied: initialization takes 4 s of CPU time, a copy 0.1 s.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { systemClock } from '../../src/core/system.ts';
import { openEmbeddedDatabase } from '../../src/platform/postgres/embedded/embedded-store.ts';

declare module 'vitest' {
  interface ProvidedContext {
    readonly embeddedTemplate: string;
  }
}

const pathOf = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const cache = pathOf('node_modules/.cache/headworks-tests');
const code = pathOf('src/platform/postgres/embedded');
const packages = ['pglite', 'pglite-pgvector'].map(
  (name) => `node_modules/@electric-sql/${name}/package.json`,
);

/** Named after the hash of its inputs, so that a change creates another one. */
async function templateFolder(): Promise<string> {
  const hash = createHash('sha256');
  const sources = (await readdir(code)).sort().map((name) => join(code, name));
  for (const file of [...sources, ...packages.map(pathOf)]) hash.update(await readFile(file));
  return join(cache, `embedded-${hash.digest('hex').slice(0, 16)}`);
}

/** Vitest calls it before the first test of a project. The store is empty: tables are created in each copy. */
export async function setup(project: TestProject): Promise<void> {
  const template = await templateFolder();
  project.provide('embeddedTemplate', template);
  await mkdir(cache, { recursive: true });
  if ((await readdir(cache)).some((name) => join(cache, name) === template)) return;
  const scratch = await mkdtemp(join(cache, 'scratch-'));
  try {
    const folder = join(scratch, 'state');
    const database = await openEmbeddedDatabase({ folder, schema: 'public', clock: systemClock });
    await database.close();
    await rename(folder, template).catch(() => undefined); // another run was faster
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Copies the empty store to a path that does not exist yet. */
export async function copyEmbeddedStore(folder: string): Promise<void> {
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  await promisify(execFile)('cp', ['-R', inject('embeddedTemplate'), folder]);
}
