// Sessions of a vault: which one a run resumes, what it may conclude, and which process may write.
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import type { ParsedPage, SessionSpec } from '../../src/extraction/types.ts';
import { openVault } from '../../src/extraction/vault/sessions.ts';
import {
  extract,
  itemOf,
  noHeader,
  noTotals,
  offsetRequest,
  pageOf,
  simplePage,
  source,
  specOf,
  typeNamed,
  vaultWorld,
  endWith,
} from '../support/vault-world.ts';
import { childList, singlePage } from '../support/extraction/pages.ts';

const rejected = { cause: 'no-id', message: 'Item 2 has no id.', raw: Buffer.from('{}') };
const live = 'SELECT id FROM content_items WHERE deleted_at IS NULL ORDER BY id';

describe('a deleted item', () => {
  it.each(['a', 'b'])('that comes back with the content "%s" is no longer deleted', async (value) => {
    const world = await vaultWorld();
    extract(world, [simplePage(0, 3)]);
    for (let absent = 0; absent < 2; absent++) extract(world, [simplePage(0, 2)]);
    expect(world.rows(live)).toEqual([{ id: '0' }, { id: '1' }]);
    extract(world, [simplePage(0, 3, value)]);
    expect(world.rows(live)).toEqual([{ id: '0' }, { id: '1' }, { id: '2' }]);
    expect(world.rows("SELECT number, data IS NULL AS gone FROM content_versions WHERE id = '2'")).toEqual([
      { number: 1n, gone: 0n },
      { number: 2n, gone: 1n },
      { number: 3n, gone: 0n },
    ]);
  });
});

describe('a session', () => {
  it('resumes with the results of its pages, whatever the number of workers', async () => {
    const world = await vaultWorld();
    const first = world.vault.sessions.open(specOf({ workerCount: 8 }));
    expect(first).toMatchObject({ isResumed: false, isComplete: false });
    const page: ParsedPage = {
      ...simplePage(0, 2),
      total: 7,
      nextCursor: 'more',
      children: [childList('tiles', { id: '1' })],
      elements: [4, 5],
    };
    const outcome = world.writer.write(first.id, page, { total: 6, nextLink: 'other' });
    const settled = {
      request: page.request,
      itemCount: 2,
      rejectedCount: 0,
      total: 7,
      next: 'more',
      children: page.children,
      elements: [4, 5],
    };
    expect(outcome).toEqual({ ...settled, written: { added: 2, changed: 0, unchanged: 0, repeated: 0 } });
    world.reopen();
    const second = world.vault.sessions.open(specOf({ config: { batchSize: 10 } }));
    expect(second).toEqual({
      id: first.id,
      isResumed: true,
      isComplete: false,
      lost: [],
      changedTypes: [],
      progress: [{ type: 'dashboards', state: 'running', itemsSeen: 2, done: [settled], failed: [] }],
      totals: { items: 2, calls: 1, errors: 0, activeMs: 0, throughputItemsPerSecond: null },
    });
    expect(world.rows('SELECT state, worker_count, config FROM extraction_sessions')).toEqual([
      { state: 'running', worker_count: null, config: '{"batchSize":10}' },
    ]);
  });

  it('that is complete is not repeated; a fresh one starts over', async () => {
    const world = await vaultWorld();
    const id = extract(world, [simplePage(0, 2)]);
    expect(world.vault.sessions.open(specOf())).toMatchObject({ id, isResumed: true, isComplete: true });
    expect(world.rows('SELECT state FROM extraction_sessions')).toEqual([{ state: 'completed' }]);
    expect(world.vault.sessions.open(specOf({ fresh: true }))).toMatchObject({
      isResumed: false,
      progress: [{ state: 'queued', done: [] }],
    });
  });

  it.each([
    ['other types', specOf({ types: [typeNamed('dashboards'), typeNamed('looks')] })],
    ['a part of a type', specOf({ types: [typeNamed('dashboards', { scope: 'folders 12' })] })],
    [
      'the type in another form',
      specOf({ types: [typeNamed('dashboards', { endpoints: [{ name: '', pagination: 'cursor' }] })] }),
    ],
  ])('does not resume one that requested %s', async (_what, other) => {
    const world = await vaultWorld();
    world.vault.sessions.open(other);
    expect(world.vault.sessions.open(specOf())).toMatchObject({ isResumed: false });
    // Nor may the older one be resumed now: it would mark items of the newer one as deleted.
    expect(world.vault.sessions.open(other)).toMatchObject({ isResumed: false });
  });

  it('resumes one of its types although others were read since', async () => {
    const world = await vaultWorld();
    const first = world.vault.sessions.open(specOf());
    const looks = specOf({ types: [typeNamed('looks')] });
    world.vault.sessions.open(looks);
    expect(world.vault.sessions.open(specOf())).toMatchObject({ id: first.id, isResumed: true });
    expect(world.rows('SELECT number, state FROM extraction_sessions')).toEqual([
      { number: 1n, state: 'running' },
      { number: 2n, state: 'interrupted' },
    ]);
  });

  it('marks items deleted that two in a row missed, records that, and undeletes them when they are back (T2)', async () => {
    const world = await vaultWorld();
    extract(world, [simplePage(0, 2), simplePage(2, 2)]);
    extract(world, [simplePage(0, 2)]);
    expect(world.rows(live)).toHaveLength(4);
    extract(world, [simplePage(0, 2)]);
    expect(world.rows(live)).toEqual([{ id: '0' }, { id: '1' }]);
    extract(world, [simplePage(0, 2), simplePage(2, 2)]);
    expect(world.rows(live)).toHaveLength(4);
    const history = "SELECT number, session, hash IS NULL AS gone FROM content_versions WHERE id = '3'";
    expect(world.rows(history)).toEqual([
      { number: 1n, session: 1n, gone: 0n },
      { number: 2n, session: 3n, gone: 1n },
      { number: 3n, session: 4n, gone: 0n },
    ]);
  });

  it('marks no item deleted that was seen between two complete ones (T2)', async () => {
    const world = await vaultWorld();
    const { sessions } = world.vault;
    extract(world, [simplePage(0, 4)]);
    extract(world, [simplePage(0, 2)]);
    const { id } = sessions.open(specOf({ fresh: true }));
    world.writer.write(id, simplePage(0, 4), noHeader);
    expect(sessions.finishType(id, 'dashboards', endWith(9))).toBe('incomplete');
    extract(world, [simplePage(0, 2)]);
    expect(world.rows(live)).toHaveLength(4);
    extract(world, [simplePage(0, 2)]);
    expect(world.rows(live)).toHaveLength(2);
  });

  it('with a failed page is incomplete and marks nothing deleted, until the page is committed', async () => {
    const world = await vaultWorld();
    const { sessions } = world.vault;
    extract(world, [simplePage(0, 2), simplePage(2, 2)]);
    const { id } = sessions.open(specOf({ fresh: true }));
    world.writer.write(id, simplePage(0, 2), noHeader);
    const failed = offsetRequest(2, 2);
    sessions.fail(id, failed, 'http-500', 'The source responded 500 six times.');
    expect(sessions.finishType(id, 'dashboards', endWith(4))).toBe('incomplete');
    sessions.finish(id, 'incomplete', { calls: 8, errors: 6, activeMs: 900 });
    expect(world.rows(live)).toHaveLength(4);
    expect(world.rows('SELECT cause, message, resolved_at FROM dead_letters')).toEqual([
      { cause: 'http-500', message: 'The source responded 500 six times.', resolved_at: null },
    ]);
    expect(sessions.open(specOf()).progress).toMatchObject([{ state: 'incomplete', failed: [failed] }]);
    const retried = sessions.open(specOf({ retryFailed: true }));
    expect(retried).toMatchObject({ id, isComplete: false, progress: [{ state: 'running', failed: [] }] });
    world.writer.write(id, simplePage(2, 1), noHeader);
    world.writer.write(id, pageOf(failed, simplePage(2, 1).items), noHeader);
    expect(sessions.finishType(id, 'dashboards', endWith(3))).toBe('completed');
    const totals = sessions.finish(id, 'completed', { calls: 1, errors: 0, activeMs: 600 });
    expect(totals).toEqual({ items: 3, calls: 9, errors: 6, activeMs: 1_500, throughputItemsPerSecond: 2 });
    expect(world.rows(live)).toHaveLength(4);
    expect(world.rows('SELECT resolved_at IS NOT NULL AS resolved FROM dead_letters')).toEqual([
      { resolved: 1n },
    ]);
    expect(
      world.rows(
        'SELECT total_items, total_calls, errors, throughput_items_per_second AS rate FROM extraction_sessions WHERE number = 2',
      ),
    ).toEqual([{ total_items: 3n, total_calls: 9n, errors: 6n, rate: 2 }]);
  });

  it('counts the time in which its runs worked, also of one that was killed, and not the time between them', async () => {
    const world = await vaultWorld();
    const { id } = world.vault.sessions.open(specOf());
    await world.clock.advance(4_000);
    world.writer.write(id, simplePage(0, 2), noHeader);
    await world.clock.advance(1_000);
    // Killed: its end was not recorded. A day passes.
    world.reopen();
    await world.clock.advance(86_400_000);
    const again = world.vault.sessions.open(specOf());
    expect(again.totals).toMatchObject({
      items: 2,
      calls: 1,
      activeMs: 4_000,
      throughputItemsPerSecond: 0.5,
    });
    await world.clock.advance(2_000);
    world.writer.write(id, simplePage(2, 4), noHeader);
    world.vault.sessions.finishType(id, 'dashboards', endWith(null));
    const totals = world.vault.sessions.finish(id, 'completed', { ...noTotals, calls: 3, activeMs: 2_000 });
    // For the killed session only its committed page is counted; for the other all three.
    expect(totals).toMatchObject({ items: 6, calls: 4, activeMs: 6_000, throughputItemsPerSecond: 1 });
    world.reopen();
    expect(world.vault.sessions.open(specOf())).toMatchObject({ isComplete: true, totals });
  });

  it.each([
    [undefined, 0],
    ['folders 12', 1],
  ])('that read a type (%s of it) leaves open %i letters of the sessions before', async (scope, open) => {
    const world = await vaultWorld();
    const { sessions } = world.vault;
    const first = sessions.open(specOf());
    sessions.fail(first.id, offsetRequest(2, 2), 'http-500', 'The source responded 500 six times.');
    sessions.finishType(first.id, 'dashboards', endWith(4));
    sessions.finish(first.id, 'incomplete', noTotals);
    const types = [typeNamed('dashboards', scope === undefined ? {} : { scope })];
    const { id } = sessions.open(specOf({ types, fresh: true }));
    world.writer.write(id, simplePage(0, 4), noHeader);
    expect(sessions.finishType(id, 'dashboards', endWith(4))).toBe('completed');
    expect(world.rows('SELECT 1 FROM dead_letters WHERE resolved_at IS NULL')).toHaveLength(open);
  });

  it('counts the stored items of a type, whichever session wrote them', async () => {
    const world = await vaultWorld();
    extract(world, [simplePage(0, 5)]);
    extract(world, [simplePage(0, 2)]);
    const { id } = world.vault.sessions.open(specOf({ fresh: true }));
    world.writer.write(id, simplePage(0, 2), noHeader);
    expect(world.vault.sessions.countItems('dashboards')).toBe(5);
    world.vault.sessions.finishType(id, 'dashboards', endWith(null));
    expect(world.vault.sessions.countItems('dashboards')).toBe(2);
  });

  it('is not complete with a rejected item; requested again, the page counts once', async () => {
    const world = await vaultWorld();
    const { sessions } = world.vault;
    const { id } = sessions.open(specOf());
    const request = offsetRequest(0, 2);
    const good = itemOf('1', '{"id":"1"}');
    world.writer.write(id, pageOf(request, [good], [rejected]), noHeader);
    expect(sessions.finishType(id, 'dashboards', endWith(2))).toBe('incomplete');
    expect(world.rows('SELECT page_key, item_index, cause FROM dead_letters')).toEqual([
      { page_key: request.key, item_index: 1n, cause: 'no-id' },
    ]);
    sessions.open(specOf({ retryFailed: true }));
    world.writer.write(id, pageOf(request, [good, itemOf('2', '{"id":"2"}')]), noHeader);
    expect(sessions.finishType(id, 'dashboards', endWith(2))).toBe('completed');
    expect(world.rows('SELECT items_seen, duplicates, reason FROM checkpoints')).toEqual([
      { items_seen: 2n, duplicates: 0n, reason: null },
    ]);
  });

  it('stores the content of a retried page, not the earlier content', async () => {
    const world = await vaultWorld();
    const { sessions } = world.vault;
    const { id } = sessions.open(specOf());
    const ids = Array.from({ length: 20 }, (_, index) => String(index));
    const page = (value: string) =>
      ids.map((item) => itemOf(item, JSON.stringify({ id: item, value: `${value} ${item}` })));
    const request = offsetRequest(0, 21);
    world.writer.write(id, pageOf(request, page('before'), [rejected]), noHeader);
    // The same item is also on a later page, which is not requested again.
    world.writer.write(id, pageOf(offsetRequest(21, 1), page('elsewhere').slice(3, 4)), noHeader);
    sessions.finishType(id, 'dashboards', endWith(null));
    sessions.open(specOf({ retryFailed: true }));
    world.writer.write(id, pageOf(request, page('after')), noHeader);
    const values = world.rows(
      "SELECT data ->> 'value' AS value FROM content_items ORDER BY CAST(id AS INTEGER)",
    );
    expect(values).toEqual(ids.map((item) => ({ value: `after ${item}` })));
    expect(sessions.finishType(id, 'dashboards', endWith(null))).toBe('completed');
    expect(world.rows('SELECT count(*) AS versions FROM content_versions')).toEqual([{ versions: 20n }]);
  });

  it('closes dead letters without a page when the type is complete', async () => {
    const world = await vaultWorld();
    const { sessions } = world.vault;
    const { id } = sessions.open(specOf());
    const parents = { ...singlePage('dashboards'), key: 'parents:folders' };
    world.writer.write(id, simplePage(0, 2), noHeader);
    sessions.fail(id, parents, 'parent-incomplete', 'Not all folders could be read.');
    expect(sessions.finishType(id, 'dashboards', endWith(null))).toBe('incomplete');
    sessions.open(specOf({ retryFailed: true }));
    expect(sessions.finishType(id, 'dashboards', endWith(null))).toBe('completed');
    expect(world.rows('SELECT 1 FROM dead_letters WHERE resolved_at IS NULL')).toEqual([]);
  });

  it('is not complete when the source counts more items than were received', async () => {
    const world = await vaultWorld();
    const { sessions } = world.vault;
    extract(world, [simplePage(0, 4)]);
    const { id } = sessions.open(specOf({ fresh: true }));
    world.writer.write(id, simplePage(0, 2), noHeader);
    expect(sessions.finishType(id, 'dashboards', endWith(4))).toBe('incomplete');
    expect(world.rows(live)).toHaveLength(4);
    expect(world.rows('SELECT reason FROM checkpoints WHERE session = 2')).toEqual([
      { reason: 'the source counts 4 items, 2 were received' },
    ]);
  });

  it('of a part of a type marks no item as deleted', async () => {
    const world = await vaultWorld();
    extract(world, [simplePage(0, 4)]);
    const { sessions } = world.vault;
    const { id } = sessions.open(specOf({ types: [typeNamed('dashboards', { scope: 'folders 12' })] }));
    world.writer.write(id, simplePage(0, 2), noHeader);
    expect(sessions.finishType(id, 'dashboards', endWith(2))).toBe('completed');
    expect(world.rows(live)).toHaveLength(4);
  });

  it('does not mark a committed page as failed', async () => {
    const world = await vaultWorld();
    const { sessions } = world.vault;
    const { id } = sessions.open(specOf());
    const page = simplePage(0, 2);
    world.writer.write(id, page, noHeader);
    sessions.fail(id, page.request, 'worker-died', 'The worker died after its commit.');
    expect(world.rows('SELECT cause FROM dead_letters')).toEqual([]);
    expect(sessions.finishType(id, 'dashboards', endWith(null))).toBe('completed');
  });
});

describe('a repeated extraction', () => {
  it('writes only what changed: not the same content in another order, nor a long number read as another', async () => {
    const world = await vaultWorld();
    const page = (json: string) => pageOf(offsetRequest(0, 1), [itemOf('1', json)]);
    const write = (json: string) => {
      const { id } = world.vault.sessions.open(specOf({ fresh: true }));
      return world.writer.write(id, page(json), noHeader).written;
    };
    const none = { added: 0, changed: 0, unchanged: 0, repeated: 0 };
    const unchanged = { ...none, unchanged: 1 };
    expect(write('{"id":"1","n":12345678901234567890}')).toEqual({ ...none, added: 1 });
    expect(write('{"id":"1","n":12345678901234567890}')).toEqual(unchanged);
    expect(write('{ "n": 12345678901234567890, "id": "1" }')).toEqual(unchanged);
    expect(write('{ "n": 12345678901234567890, "id": "1" }')).toEqual(unchanged);
    expect(write('{"id":"1","n":12345678901234567891}')).toEqual({ ...none, changed: 1 });
    expect(world.rows('SELECT number, session FROM content_versions')).toEqual([
      { number: 1n, session: 1n },
      { number: 2n, session: 5n },
    ]);
  });

  it('starts a new session when the last has finished, and only then', async () => {
    const world = await vaultWorld();
    const { sessions } = world.vault;
    const open = (parts: Partial<SessionSpec> = {}) =>
      sessions.open(specOf({ fresh: 'when-finished', ...parts }));
    const first = open();
    world.writer.write(first.id, simplePage(0, 2), noHeader);
    expect(open()).toMatchObject({ id: first.id, isResumed: true });
    sessions.fail(first.id, offsetRequest(2, 2), 'http-500', 'Broken.');
    sessions.finishType(first.id, 'dashboards', endWith(null));
    sessions.finish(first.id, 'incomplete', noTotals);
    expect(open({ retryFailed: true })).toMatchObject({ id: first.id });
    expect(sessions.finishType(first.id, 'dashboards', endWith(null))).toBe('completed');
    // Killed before it could record its end.
    const second = open();
    expect(second).toMatchObject({ isResumed: false, isComplete: false });
    sessions.fail(second.id, offsetRequest(0, 2), 'http-500', 'Broken.');
    expect(sessions.finishType(second.id, 'dashboards', endWith(null))).toBe('incomplete');
    expect(open().id).not.toBe(second.id);
  });

  it.each([
    ['items and versions', `DELETE FROM items; DELETE FROM content_versions`],
    ['one item', `DELETE FROM items WHERE id = '1'`],
    ['one version', `DELETE FROM content_versions WHERE id = '1'`],
    ['a page', `DELETE FROM pages`],
    ['a checkpoint', `PRAGMA foreign_keys = off; DELETE FROM checkpoints`],
  ])('is not complete after %s was removed by hand: everything is read again', async (what, sql) => {
    const world = await vaultWorld();
    extract(world, [simplePage(0, 3)]);
    const db = new DatabaseSync(world.path);
    db.exec(sql);
    db.close();
    world.reopen();
    const again = world.vault.sessions.open(specOf());
    if (what === 'a checkpoint') expect(again.isResumed).toBe(false);
    else expect(again).toMatchObject({ isResumed: false, isComplete: false, lost: ['dashboards'] });
    world.writer.write(again.id, simplePage(0, 3), noHeader);
    expect(world.vault.sessions.finishType(again.id, 'dashboards', endWith(3))).toBe('completed');
    expect(world.rows(live)).toHaveLength(3);
    expect(world.vault.sessions.open(specOf())).toMatchObject({ isComplete: true, lost: [] });
  });

  it('numbers types of its own from 101 and keeps the numbers', async () => {
    const world = await vaultWorld();
    const types = ['tickets', 'dashboards', 'agents'].map((name) => typeNamed(name));
    world.vault.sessions.open(specOf({ types: types.slice(0, 2) }));
    world.vault.sessions.open(specOf({ types }));
    expect(world.rows('SELECT * FROM content_types')).toEqual([
      { number: 1n, name: 'dashboards', item_count: 0n, version_count: 0n },
      { number: 101n, name: 'tickets', item_count: 0n, version_count: 0n },
      { number: 102n, name: 'agents', item_count: 0n, version_count: 0n },
    ]);
  });
});

describe('a vault', () => {
  it('has one writing process, and readers at any time', async () => {
    const world = await vaultWorld();
    extract(world, [simplePage(0, 2)]);
    const options = { source, clock: world.clock, ids: { uuid: () => 'x', token: () => 'x' } };
    expect(() => openVault(world.path, options)).toThrow(
      expect.objectContaining({ code: 'EXTRACTION_BUSY', isRetryable: true }),
    );
    expect(world.rows('SELECT count(*) AS n FROM content_items')).toEqual([{ n: 2n }]);
    world.vault.close();
    world.vault.close();
    openVault(world.path, options).close();
  });

  it('of another source is rejected and not changed', async () => {
    const world = await vaultWorld();
    extract(world, [simplePage(0, 2)]);
    expect(() => world.vault.sessions.open(specOf({ source: 'looker https://other.example.com' }))).toThrow(
      expect.objectContaining({ code: 'EXTRACTION_VAULT_OF_OTHER_SOURCE' }),
    );
    world.vault.close();
    const ids = { uuid: () => 'x', token: () => 'x' };
    expect(() => openVault(world.path, { source: 'other', clock: world.clock, ids })).toThrow(
      `${world.path} belongs to "${source}", not to "other".`,
    );
    expect(world.rows('SELECT count(*) AS n FROM extraction_sessions')).toEqual([{ n: 1n }]);
    // The lock was released.
    openVault(world.path, { source, clock: world.clock, ids }).close();
  });
});
