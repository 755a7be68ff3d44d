// The vault when threads write together, and when the process is killed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/core/index.ts';
import { openVaultReader, verifyVault } from '../../src/extraction/vault/index.ts';
import { openSqlite } from '../../src/platform/sqlite/open-sqlite.ts';
import { temporaryFolder } from '../support/services.ts';
import { dump, specOf, vaultWorld, type VaultWorld, endWith } from '../support/vault-world.ts';

const script = fileURLToPath(new URL('./vault-writing-process.ts', import.meta.url));

/** Runs the process, which exits at `place` of `page` (see there), or completes. */
async function run(path: string, page: number, place: string) {
  const child = spawn(process.execPath, [script, path, String(page), place], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) lines.push(line);
  const [, signal] = (await exited) as [number | null, string | null];
  return { lines, signal };
}

function state(path: string): { pages: string[]; itemsByPage: Map<string, number> } {
  const db = openSqlite(path, { readOnly: true });
  try {
    const pages = db.prepare("SELECT key FROM pages WHERE state = 'committed'").all();
    const items = db
      .prepare(
        `SELECT substr(id, 1, instr(id, '-') - 1) AS page, count(*) AS items FROM content_items
         WHERE length(data) > 10000 GROUP BY 1`,
      )
      .all();
    return {
      pages: pages.map((row) => String(row['key'])).sort(),
      itemsByPage: new Map(items.map((row) => [String(row['page']), Number(row['items'])])),
    };
  } finally {
    db.close();
  }
}

describe('a vault whose process is killed', () => {
  it('has every page completely or not at all, and the next run requests only what is missing', async () => {
    const path = join(await temporaryFolder(), 'killed.vault');
    const deaths = [
      // Where it exits, and how many pages are committed then.
      { page: 0, place: '0', pages: 0 },
      { page: 2, place: '13', pages: 2 },
      { page: 4, place: 'end', pages: 4 },
      { page: 6, place: 'after', pages: 7 },
      { page: 9, place: '24', pages: 9 },
    ];
    let resumed = 0;
    for (const { page, place, pages } of deaths) {
      const { lines, signal } = await run(path, page, place);
      expect(signal).toBe('SIGKILL');
      expect(lines[0]).toBe(`resumed ${resumed}`);
      const there = state(path);
      expect(there.pages).toHaveLength(pages);
      expect([...there.itemsByPage.keys()].sort()).toEqual(there.pages);
      expect([...there.itemsByPage.values()].every((items) => items === 25)).toBe(true);
      resumed = pages;
    }
    const last = await run(path, -1, '');
    expect(last.lines).toEqual(['resumed 9', 'page 9', 'page 10', 'page 11', 'completed']);
    const reader = openVaultReader(path);
    expect(verifyVault(reader)).toMatchObject({ problems: [], checked: { items: 300, pages: 12 } });
    expect(reader.types()).toMatchObject([{ itemsSeen: 300, duplicates: 0 }]);
    reader.close();
  });
});

async function writeInThreads(world: VaultWorld, threads: number, isDying = false): Promise<void> {
  const session = world.vault.sessions.open(specOf({ fresh: true }));
  const workers = Array.from({ length: threads }, (_, thread) => {
    const pages = Array.from({ length: 32 }, (_unused, page) => page).filter(
      (page) => page % threads === thread,
    );
    return new Worker(new URL('./vault-writing-thread.ts', import.meta.url), {
      workerData: { path: world.path, writeLock: world.vault.writeLock, session: session.id, pages, isDying },
    });
  });
  const codes = await Promise.all(workers.map(async (worker) => (await once(worker, 'exit')) as [number]));
  expect(codes.flat()).toEqual(workers.map(() => 0));
  expect(world.vault.sessions.finishType(session.id, 'dashboards', endWith(null))).toBe('completed');
}

describe('threads that write to one vault', () => {
  it('leave the same rows, eight of them or one', async () => {
    const [one, eight] = [await vaultWorld(), await vaultWorld()];
    await writeInThreads(one, 1);
    await writeInThreads(eight, 8);
    expect(dump(eight)).toEqual(dump(one));
    expect(one.rows('SELECT items_seen, duplicates FROM checkpoints')).toEqual([
      { items_seen: 32n * 16n + 4n, duplicates: 31n * 4n },
    ]);
  });

  it('wait for the write lock without the lock of SQLite', async () => {
    const world = await vaultWorld();
    const { id: session } = world.vault.sessions.open(specOf({ fresh: true }));
    const { path } = world;
    const { writeLock } = world.vault;
    const lock = new Int32Array(writeLock);
    Atomics.store(lock, 0, 1);
    const worker = new Worker(new URL('./vault-writing-thread.ts', import.meta.url), {
      workerData: { path, writeLock, session, pages: [0], isDying: false },
    });
    const exited = once(worker, 'exit');
    const db = openSqlite(path, { busyTimeoutMs: 0 });
    // True when it woke the thread, which then waits again.
    while (Atomics.notify(lock, 0) === 0) await systemClock.sleep(5);
    db.exec('BEGIN IMMEDIATE; COMMIT');
    db.close();
    Atomics.store(lock, 0, 0);
    Atomics.notify(lock, 0);
    expect(await exited).toEqual([0]);
    expect(world.rows('SELECT count(*) AS pages FROM pages')).toEqual([{ pages: 1n }]);
  });

  it('continue when one of them dies with the write lock', async () => {
    const world = await vaultWorld();
    await writeInThreads(world, 3, true);
    expect(world.rows('SELECT count(*) AS pages FROM pages')).toEqual([{ pages: 32n }]);
  });
});
