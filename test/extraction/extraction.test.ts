// Extractions from a simulated Looker: the vault has what the source has, with the exact number of calls.
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../support/services.ts';
import {
  contentIn,
  contentOf,
  extractLooker,
  simulatedLooker,
  smallWorld,
  vaultRows,
} from '../support/extraction-runs.ts';

/**
 * In pages of ten: a page per ten of each list (one if it is empty), one more after a single full page, which has no links,
 * and one for each look and explore.
 */
const exactCalls =
  Object.entries(smallWorld)
    .filter(([type]) => type !== 'explores')
    .reduce((sum, [, count]) => sum + Math.max(1, Math.ceil(count / 10)) + (count === 10 ? 1 : 0), 0) +
  smallWorld.looks +
  smallWorld.explores;

describe('an extraction from Looker', () => {
  it('extracts all twelve types exactly as the source has them, in the minimum number of calls', async () => {
    const looker = await simulatedLooker();
    const folder = await temporaryFolder();
    const { result } = await extractLooker(looker, folder);
    expect(result).toMatchObject({ state: 'completed', calls: exactCalls });
    const { calls, responded } = looker.stats();
    expect(Object.values(calls).reduce((sum, count) => sum + count, 0) - (calls['POST /login'] ?? 0)).toBe(
      exactCalls,
    );
    expect(Object.keys(responded)).toEqual(['200']);
    expect(contentIn(vaultRows(folder))).toEqual(await contentOf(looker));
  });

  it('writes the same vault, row by row, with 1 worker and with 8', async () => {
    const looker = await simulatedLooker({ latencyMs: 2 });
    const [one, eight] = [await temporaryFolder(), await temporaryFolder()];
    await extractLooker(looker, one, { workers: '1' });
    await extractLooker(looker, eight, { workers: '8' });
    expect(vaultRows(eight)).toEqual(vaultRows(one));
    expect(vaultRows(one).length).toBeGreaterThan(100);
  });

  it('requests one more page only where no total proves the end', async () => {
    const looker = await simulatedLooker({
      hasTotal: false,
      items: { dashboards: 25, users: 20, roles: 10 },
    });
    const folder = await temporaryFolder();
    const { result } = await extractLooker(looker, folder, { types: 'dashboards,users,roles' });
    // 3 and 1 (LookML) pages end short; after the last full page of users and of roles comes one more call.
    expect(result).toMatchObject({ state: 'completed', calls: 3 + 1 + 3 + 2 });
    expect(vaultRows(folder)).toHaveLength(55);
  });

  it('reads everything from a server that returns fewer items per page than requested', async () => {
    const looker = await simulatedLooker({ pageLimit: 7, items: { users: 40 } });
    const folder = await temporaryFolder();
    const { result } = await extractLooker(looker, folder, { types: 'users', 'batch-size': '100' });
    expect(result).toMatchObject({ state: 'completed', calls: 6 });
    expect(vaultRows(folder)).toHaveLength(40);
  });

  it('makes no content call when everything is there, and reads everything again with --fresh', async () => {
    const looker = await simulatedLooker({ items: { users: 20 } });
    const folder = await temporaryFolder();
    await extractLooker(looker, folder, { types: 'users' });
    looker.reset();
    expect((await extractLooker(looker, folder, { types: 'users' })).result).toMatchObject({
      wasComplete: true,
      state: 'completed',
      calls: 0,
    });
    expect(Object.keys(looker.stats().calls)).toEqual(['POST /login']);
    const fresh = await extractLooker(looker, folder, { types: 'users', fresh: 'true' });
    expect(fresh.result).toMatchObject({ wasComplete: false, state: 'completed', calls: 2 });
  });

  it('resumes with other workers and another page size, and requests nothing twice', async () => {
    const looker = await simulatedLooker({ items: { users: 300 } });
    const folder = await temporaryFolder();
    const first = await extractLooker(looker, folder, { types: 'users', 'max-calls': '7' });
    expect(first.result).toMatchObject({ state: 'interrupted', endedBy: 'max-calls', calls: 7 });
    const rest = { types: 'users', workers: '1', 'batch-size': '100' };
    expect((await extractLooker(looker, folder, rest)).result).toMatchObject({
      state: 'completed',
      calls: 3,
    });
    expect(vaultRows(folder)).toHaveLength(300);
  });

  it('counts the 429s of each run, and the items and the time of all of them', async () => {
    const looker = await simulatedLooker({ items: { users: 40 }, faults: { '429': { probability: 1 } } });
    const folder = await temporaryFolder();
    const users = { types: 'users', workers: '1' };
    const first = await extractLooker(looker, folder, { ...users, 'max-calls': '2' });
    expect(first.result).toMatchObject({ calls: 2, rateLimitedCalls: 2, totals: { items: 0, calls: 2 } });
    looker.configure({ faults: {} });
    const second = await extractLooker(looker, folder, users);
    expect(second.result).toMatchObject({
      isResumed: true,
      calls: 4,
      rateLimitedCalls: 0,
      rateLimiter: { total_429_count: 2 },
      types: [{ type: 'users', items: 40, itemsThisRun: 40, held: 40 }],
      totals: { items: 40, calls: 6 },
    });
    const { activeMs, throughputItemsPerSecond } = second.result.totals;
    expect(activeMs).toBeGreaterThan(first.result.totals.activeMs);
    expect(throughputItemsPerSecond).toBeCloseTo(40_000 / activeMs, 6);
    const progress = second.events.filter(({ name }) => name === 'extraction:progress').at(-1)?.payload;
    expect(progress).toMatchObject({ rateLimitedCalls: 0 });
    const finished = second.events.find(({ name }) => name === 'extraction:type-finished')?.payload;
    expect(finished).toMatchObject({ type: 'users', items: 40, itemsThisRun: 40 });
    const third = await extractLooker(looker, folder, users);
    expect(third.result).toMatchObject({
      wasComplete: true,
      rateLimitedCalls: 0,
      totals: { items: 40, calls: 6 },
    });
  });

  it('prunes old versions when it is complete, if configured', async () => {
    const looker = await simulatedLooker({ items: { users: 5 } });
    const folder = await temporaryFolder();
    const users = { types: 'users', fresh: 'true' };
    const versions = () => {
      const db = new DatabaseSync(join(folder, 'test.vault'));
      // As if everything had happened a week ago.
      db.exec('UPDATE content_versions SET first_seen_at = first_seen_at - 7 * 86400000');
      const row = db.prepare('SELECT count(*) AS count FROM content_versions').get();
      db.close();
      return row?.['count'];
    };
    const change = () => looker.change({ type: 'users', change: ['1', '2'] });
    await extractLooker(looker, folder, users);
    expect(versions()).toBe(5);
    change();
    await extractLooker(looker, folder, users);
    expect(versions()).toBe(7);
    change();
    const { events } = await extractLooker(
      looker,
      folder,
      users,
      {},
      { HEADWORKS_RETENTION_VAULT_VERSIONS_DAYS: '5' },
    );
    expect(events.filter(({ name }) => name === 'extraction:versions-pruned')).toMatchObject([
      { payload: { versions: 2 } },
    ]);
    expect(versions()).toBe(7);
  });

  it('reads only the given folders and their subfolders, and marks nothing else as deleted', async () => {
    const looker = await simulatedLooker();
    const folder = await temporaryFolder();
    await extractLooker(looker, folder);
    const all = vaultRows(folder);
    const { result } = await extractLooker(looker, folder, {
      folders: '1',
      recursive: 'true',
      fresh: 'true',
    });
    expect(result.state).toBe('completed');
    expect(result.types.map(({ type }) => type)).toEqual(['dashboards', 'looks']);
    expect(vaultRows(folder)).toEqual(all);
  });
});

describe('an extraction that cannot start', () => {
  it('reports wrong credentials, and leaves no file', async () => {
    const looker = await simulatedLooker();
    const folder = await temporaryFolder();
    await expect(extractLooker({ ...looker, clientSecret: 'wrong' }, folder)).rejects.toMatchObject({
      code: 'EXTRACTION_UNAUTHENTICATED',
    });
    expect(existsSync(join(folder, 'test.vault'))).toBe(false);
  });

  it('reports an unreachable server, or one that is not Looker, and leaves no file', async () => {
    const looker = await simulatedLooker();
    const folder = await temporaryFolder();
    const other = createServer((_request, response) => response.end('<html>hello</html>'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    onTestFinished(() => void other.close());
    await expect(extractLooker({ ...looker, url }, folder)).rejects.toMatchObject({
      code: 'EXTRACTION_UNREACHABLE',
    });
    const unreachable = { ...looker, url: 'http://127.0.0.1:1' };
    await expect(extractLooker(unreachable, folder)).rejects.toMatchObject({
      code: 'EXTRACTION_UNREACHABLE',
    });
    expect(existsSync(join(folder, 'test.vault'))).toBe(false);
  });

  it('names unknown types', async () => {
    const looker = await simulatedLooker();
    const folder = await temporaryFolder();
    await expect(extractLooker(looker, folder, { types: 'dashbords' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(
        'there is no type "dashbords"; this source has dashboards, looks',
      ) as string,
    });
    expect(looker.stats().total).toBe(0);
  });
});
