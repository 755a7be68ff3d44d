// Pruning a vault: what is deleted, what is always kept, and how readers see a pruned history.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ParsedPage } from '../../src/extraction/types.ts';
import type { PruneRule } from '../../src/extraction/vault/prune.ts';
import { diffSessions, openVaultReader, pruneVault, verifyVault } from '../../src/extraction/vault/index.ts';
import { temporaryFolder } from '../support/services.ts';
import type { VaultWorld } from '../support/vault-world.ts';
import {
  extract,
  itemOf,
  noHeader,
  offsetRequest,
  pageOf,
  simplePage,
  specOf,
  vaultWorld,
} from '../support/vault-world.ts';

const dayMs = 86_400_000;

const prune = (world: VaultWorld, rule: PruneRule) =>
  world.clock.run(world.vault.prune(rule, new AbortController().signal));

/** One page with all items, by id. */
const pageWith = (items: Readonly<Record<string, string>>): ParsedPage => ({
  ...pageOf(
    offsetRequest(0, 10),
    Object.entries(items).map(([id, value]) => itemOf(id, JSON.stringify({ id, value }), { name: value })),
  ),
  total: Object.keys(items).length,
});

/** Runs one extraction a day, each with one of these sets of items. */
async function extractDaily(
  world: VaultWorld,
  days: readonly Readonly<Record<string, string>>[],
): Promise<void> {
  for (const items of days) {
    extract(world, [pageWith(items)]);
    await world.clock.advance(dayMs);
  }
}

const versionsOf = (world: VaultWorld, id: string) =>
  world
    .rows(`SELECT number FROM content_versions WHERE id = '${id}' ORDER BY number`)
    .map(({ number }) => Number(number));

const tables = (world: VaultWorld) => [
  world.rows('SELECT * FROM items ORDER BY content_type, id'),
  world.rows('SELECT * FROM content_items ORDER BY content_type, id'),
  world.rows('SELECT * FROM extraction_sessions ORDER BY number'),
  world.rows('SELECT * FROM checkpoints ORDER BY session, content_type'),
];

/** Problems that the verification finds. */
function problemsOf(world: VaultWorld): readonly string[] {
  const reader = openVaultReader(world.path);
  try {
    return verifyVault(reader).problems.map(({ message }) => message);
  } finally {
    reader.close();
  }
}

describe('pruning a vault', () => {
  it('deletes versions that were replaced before the cut, and never what an item is now', async () => {
    const world = await vaultWorld();
    // On day 5, "older than 2 days" cuts at day 3: version 3 of a was its state then.
    await extractDaily(world, [
      { a: '1', b: 'old', c: '1' },
      { a: '2', b: 'old', c: '2' },
      { a: '3', b: 'old' },
      { a: '4', b: 'old' },
      { a: '5', b: 'old' },
    ]);
    const before = tables(world);
    const report = await prune(world, { olderThanDays: 2, keep: 1 });
    expect(report).toMatchObject({ versions: 2 + 1 });
    expect(report.bytes).toBe(3 * '{"id":"a","value":"1"}'.length);
    expect(versionsOf(world, 'a')).toEqual([3, 4, 5]);
    expect(versionsOf(world, 'b')).toEqual([1]);
    // Deleted since day 2: its last version and its deletion.
    expect(versionsOf(world, 'c')).toEqual([2, 3]);
    expect(tables(world)).toEqual(before);
    expect(problemsOf(world)).toEqual([]);
    expect(await prune(world, { olderThanDays: 2, keep: 1 })).toMatchObject({ versions: 0 });
  });

  it('keeps the configured number of versions of each item, however old', async () => {
    const world = await vaultWorld();
    await extractDaily(world, [{ a: '1' }, { a: '2' }, { a: '3' }, { a: '4' }]);
    await prune(world, { olderThanDays: 0, keep: 3 });
    expect(versionsOf(world, 'a')).toEqual([2, 3, 4]);
    await prune(world, { olderThanDays: 0, keep: 1 });
    expect(versionsOf(world, 'a')).toEqual([4]);
    extract(world, [pageWith({ a: '5' })]);
    expect(versionsOf(world, 'a')).toEqual([4, 5]);
  });

  it('stops between two batches when its signal aborts', async () => {
    const world = await vaultWorld();
    await extractDaily(world, [{ a: '1' }, { a: '2' }]);
    const stop = AbortSignal.abort(new Error('enough'));
    await expect(world.vault.prune({ olderThanDays: 0, keep: 1 }, stop)).rejects.toThrow('enough');
    expect(versionsOf(world, 'a')).toEqual([1, 2]);
  });

  it('prunes any number of versions, in batches', async () => {
    const world = await vaultWorld();
    for (const value of ['a', 'b', 'c']) extract(world, [simplePage(0, 900, value)]);
    await world.clock.advance(1);
    expect(await prune(world, { olderThanDays: 0, keep: 1 })).toMatchObject({ versions: 1_800 });
    expect(world.rows('SELECT count(*) AS count FROM content_versions')).toEqual([{ count: 900n }]);
  });

  it('keeps what a session that can be resumed may still need', async () => {
    const world = await vaultWorld();
    extract(world, [pageWith({ a: 'one' })]);
    const { id } = world.vault.sessions.open(specOf({ fresh: true }));
    world.writer.write(id, pageWith({ a: 'two' }), noHeader);
    await world.clock.advance(dayMs);
    expect(await prune(world, { olderThanDays: 0, keep: 1 })).toMatchObject({ versions: 0 });
    // The item appears again on a later page, unchanged.
    const later = { ...offsetRequest(10, 10) };
    world.writer.write(id, pageOf(later, [itemOf('a', '{"id":"a","value":"one"}')]), noHeader);
    expect(versionsOf(world, 'a')).toEqual([1]);
  });

  it('deletes the pages of extractions that have a successor, and no others', async () => {
    const world = await vaultWorld();
    await extractDaily(world, [{ a: '1' }, { a: '1' }, { a: '1' }]);
    expect(await prune(world, { olderThanDays: 1, keep: 1 })).toMatchObject({ pages: 2 });
    expect(world.rows('SELECT session FROM pages')).toEqual([{ session: 3n }]);
    expect(world.vault.sessions.open(specOf())).toMatchObject({ isComplete: true });
    expect(problemsOf(world)).toEqual([]);
  });

  it('makes a comparison report a pruned version instead of an added item', async () => {
    const world = await vaultWorld();
    await extractDaily(world, [
      { a: '1', b: '1', c: '1' },
      { a: '2', b: '1', c: '2' },
      { a: '3', b: '1' },
      { a: '3', b: '1' },
    ]);
    await prune(world, { olderThanDays: 0, keep: 1 });
    const reader = openVaultReader(world.path);
    const changes = (from: number, to: number) =>
      [...diffSessions(reader, from, to)].map(({ id, kind, isPruned }) => ({ id, kind, isPruned }));
    expect(changes(1, 4)).toEqual([
      { id: 'a', kind: 'changed', isPruned: true },
      { id: 'c', kind: 'deleted', isPruned: true },
    ]);
    expect(changes(0, 4)).toEqual([
      { id: 'a', kind: 'added', isPruned: false },
      { id: 'b', kind: 'added', isPruned: false },
    ]);
    reader.close();
  });

  it('shrinks the file on request, and fails while an extraction writes', async () => {
    const world = await vaultWorld();
    for (const letter of ['a', 'b', 'c', 'd']) {
      const json = (id: number) => JSON.stringify({ id: String(id), text: letter.repeat(2_000) });
      const items = Array.from({ length: 500 }, (_, id) => itemOf(String(id), json(id)));
      extract(world, [pageOf(offsetRequest(0, 500), items)]);
    }
    const { clock, path } = world;
    await clock.advance(1);
    const rule = { olderThanDays: 0, keep: 1 };
    await expect(clock.run(pruneVault(path, rule, { clock }))).rejects.toMatchObject({
      code: 'EXTRACTION_BUSY',
    });
    world.reopen();
    world.vault.close();
    const before = statSync(path).size;
    expect(await clock.run(pruneVault(path, rule, { clock, compact: true }))).toMatchObject({
      versions: 1_500,
    });
    expect(statSync(path).size).toBeLessThan(before / 2);
    await expect(pruneVault(`${path}.none`, rule, { clock })).rejects.toMatchObject({
      code: 'SQLITE_UNUSABLE',
    });
  });

  it('never changes what was the newest at any moment since the cut, nor the present, whatever happened', async () => {
    const folder = await temporaryFolder();
    let run = 0;
    const day = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('x', 'y', 'z'));
    await fc.assert(
      fc.asyncProperty(
        fc.array(day, { minLength: 1, maxLength: 8 }),
        fc.nat(8),
        fc.integer({ min: 1, max: 4 }),
        async (days, olderThanDays, keep) => {
          const world = await vaultWorld(join(folder, `${(run += 1)}.vault`));
          await extractDaily(world, days);
          const cut = world.clock.now() - olderThanDays * dayMs;
          const stateAt = (id: string, at: number) =>
            world.rows(
              `SELECT number, data FROM content_versions WHERE id = '${id}' AND first_seen_at <= ${at}
               ORDER BY number DESC LIMIT 1`,
            )[0];
          const moments = days.map((_, index) => world.clock.now() - index * dayMs).filter((at) => at >= cut);
          const states = () => ['a', 'b', 'c'].map((id) => moments.map((at) => stateAt(id, at)));
          const counts = () => ['a', 'b', 'c'].map((id) => versionsOf(world, id).length);
          const [present, history, had] = [tables(world), states(), counts()];
          await prune(world, { olderThanDays, keep });
          expect(tables(world)).toEqual(present);
          expect(states()).toEqual(history);
          counts().forEach((left, index) =>
            expect(left).toBeGreaterThanOrEqual(Math.min(keep, had[index] ?? 0)),
          );
          expect(problemsOf(world)).toEqual([]);
        },
      ),
      { numRuns: 25 },
    );
  });
});
