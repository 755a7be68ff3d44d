// Extractions from a faulty Looker: complete, correct and finite.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import type { LookerSimulatorOptions } from '../../src/simulators/looker/server.ts';
import {
  contentIn,
  contentOf,
  extractLooker,
  simulatedLooker,
  vaultRows,
} from '../support/extraction-runs.ts';
import { temporaryFolder } from '../support/services.ts';

function queryVault(folder: string, sql: string): readonly unknown[] {
  const db = new DatabaseSync(join(folder, 'test.vault'), { readOnly: true });
  try {
    return db
      .prepare(sql)
      .all()
      .map((row) => ({ ...row }));
  } finally {
    db.close();
  }
}

describe('a source with faults', () => {
  const passing: readonly [string, NonNullable<LookerSimulatorOptions['faults']>][] = [
    ['429', { '429': { probability: 0.1, ms: 20 } }],
    ['500 and 503', { '500': { probability: 0.1 }, '503': { probability: 0.05 } }],
    ['resets', { reset: { probability: 0.1 } }],
    ['cut-off answers', { truncated: { probability: 0.1 } }],
    ['logins that fail', { 'login-500': { probability: 0.5 }, 'expired-token': { probability: 0.03 } }],
    ['responses with an unexpected shape', { malformed: { probability: 0.1 } }],
    ['tokens that expire', { 'expired-token': { probability: 0.05 } }],
    ['slow answers', { slow: { probability: 0.1, ms: 30 } }],
    ['repeated items', { duplicate: { probability: 0.2 } }],
  ];
  it.each(passing)('is read completely in spite of %s', async (_name, faults) => {
    const looker = await simulatedLooker({ faults, retryAfter: 'milliseconds', seed: 3 });
    const folder = await temporaryFolder();
    const { result } = await extractLooker(looker, folder, { retries: '12' });
    expect(result.state).toBe('completed');
    looker.configure({ faults: {} });
    expect(contentIn(vaultRows(folder))).toEqual(await contentOf(looker));
  });

  it('that repeats items results in the same vault with 1 and 8 workers, and counts each item once', async () => {
    const looker = await simulatedLooker({ faults: { duplicate: { probability: 0.5 } }, latencyMs: 2 });
    const [one, eight] = [await temporaryFolder(), await temporaryFolder()];
    await extractLooker(looker, one, { workers: '1' });
    looker.reset();
    const { result, events } = await extractLooker(looker, eight, { workers: '8' });
    const pages = 'SELECT * FROM pages ORDER BY content_type, key';
    expect(queryVault(eight, pages)).toEqual(queryVault(one, pages));
    const rows = vaultRows(eight);
    expect(rows).toEqual(vaultRows(one));
    const [counted] = queryVault(eight, 'SELECT sum(duplicates) AS duplicates FROM checkpoints') as [
      { duplicates: number },
    ];
    expect(counted.duplicates).toBeGreaterThan(0);
    expect(result.totals.items).toBe(rows.length);
    expect(result.metrics.total).toBe(rows.length);
    for (const { items, held, total } of result.types) expect([items, total ?? items]).toEqual([held, held]);
    const items = (name: string) =>
      events
        .filter((event) => event.name === name)
        .reduce((sum, { payload }) => sum + Number(payload['items']), 0);
    expect(items('extraction:finished')).toBe(rows.length);
    expect(items('extraction:page-committed')).toBe(rows.length);
  });

  it('that never responds to a call times out, and is read when it responds again', async () => {
    const looker = await simulatedLooker({
      faults: { hang: { probability: 0.2 } },
      seed: 5,
      items: { users: 60 },
    });
    const folder = await temporaryFolder();
    const flags = { types: 'users', retries: '12', 'timeout-seconds': '1' };
    expect((await extractLooker(looker, folder, flags)).result.state).toBe('completed');
    expect(vaultRows(folder)).toHaveLength(60);
  });

  it('whose tokens all expire in the middle loses no page and requests none twice', async () => {
    const looker = await simulatedLooker({ items: { users: 200 }, latencyMs: 5 });
    const folder = await temporaryFolder();
    let pages = 0;
    const onEvent = ({ name }: { name: string }) => {
      if (name === 'extraction:page-committed' && ++pages === 6) looker.expireTokens();
    };
    const { result } = await extractLooker(looker, folder, { types: 'users' }, { onEvent });
    expect(result).toMatchObject({ state: 'completed', calls: 20 });
    expect(vaultRows(folder)).toHaveLength(200);
    expect(looker.stats().calls['POST /login']).toBe(2);
  });

  it('with a page that always fails is incomplete, every other type complete, until the page succeeds', async () => {
    const looker = await simulatedLooker({ failures: [{ type: 'users', offset: 15 }] });
    const folder = await temporaryFolder();
    const first = await extractLooker(looker, folder, { retries: '2' });
    expect(first.result.state).toBe('incomplete');
    expect(first.result.types.filter(({ state: status }) => status !== 'completed')).toMatchObject([
      { type: 'users', items: 21 },
    ]);
    const again = await extractLooker(looker, folder);
    expect(again.result).toMatchObject({ state: 'incomplete', calls: 0 });
    looker.configure({ failures: [] });
    const retried = await extractLooker(looker, folder, { 'retry-failed': 'true' });
    expect(retried.result).toMatchObject({ state: 'completed', calls: 1 });
    expect(contentIn(vaultRows(folder))).toEqual(await contentOf(looker));
  });

  it('that returns 500 for everything ends after few calls', async () => {
    const looker = await simulatedLooker({ faults: { '500': { probability: 1 } } });
    const { result } = await extractLooker(looker, await temporaryFolder(), { retries: '1' });
    expect(result.state).toBe('incomplete');
    // Two pages of each of twelve lists, two tries each; models and looks have no members then.
    expect(result.calls).toBe(12 * 2 * 2);
  });

  it('with items that have no id is incomplete, and none is stored under an invented one', async () => {
    const looker = await simulatedLooker({ faults: { 'no-id': { probability: 1 } }, items: { users: 20 } });
    const folder = await temporaryFolder();
    const { result } = await extractLooker(looker, folder, { types: 'users' });
    expect(result.state).toBe('incomplete');
    expect(vaultRows(folder)).toHaveLength(20);
  });
});

describe('a type whose parents are of another type', () => {
  it.each(['lost-id', 'lost-explores'] as const)(
    'is not complete, and nothing of it is marked deleted, when parents were read with %s',
    async (fault) => {
      const looker = await simulatedLooker({ items: { lookml_models: 3, explores: 9 } });
      const folder = await temporaryFolder();
      const types = { types: 'lookml_models,explores' };
      await extractLooker(looker, folder, types);
      const before = vaultRows(folder);
      expect(before).toHaveLength(12);
      looker.configure({ faults: { [fault]: { probability: 1 } } });
      const { result } = await extractLooker(looker, folder, { ...types, fresh: 'true' });
      expect(result.state).toBe('incomplete');
      expect(result.types.map(({ state: status }) => status)).toEqual(['incomplete', 'incomplete']);
      const isLive = `SELECT count(*) AS live FROM items WHERE deleted_at IS NULL`;
      expect(queryVault(folder, isLive)).toEqual([{ live: 12 }]);
      looker.configure({ faults: {} });
      const retried = await extractLooker(looker, folder, { ...types, 'retry-failed': 'true' });
      expect(retried.result.state).toBe('completed');
      expect(queryVault(folder, 'SELECT cause FROM dead_letters WHERE resolved_at IS NULL')).toEqual([]);
      expect(vaultRows(folder)).toHaveLength(12);
    },
  );
});

describe('rate limits', () => {
  it('are kept: a server that enforces them on arrival never returns 429', async () => {
    // A tenth above the client's limit: the server shares the event loop here, and may count a call late.
    const looker = await simulatedLooker({ rateLimits: { perSecond: 44 }, items: { users: 1_200 } });
    const flags = { types: 'users', 'rate-limit-per-second': '40', workers: '2' };
    const { result } = await extractLooker(looker, await temporaryFolder(), flags);
    expect(result).toMatchObject({ state: 'completed', calls: 120, rateLimiter: { total_429_count: 0 } });
    expect(looker.stats().maxPerSecond).toBeLessThanOrEqual(44);
  });

  it('that are lower than configured slow the run down instead of losing pages', async () => {
    const looker = await simulatedLooker({
      rateLimits: { perSecond: 6 },
      retryAfter: 'milliseconds',
      // Thirty pages: too few successes to return to the full rate before the run ends, however slow the machine.
      items: { users: 300 },
    });
    const folder = await temporaryFolder();
    const flags = { types: 'users', 'rate-limit-per-second': '40', workers: '8' };
    const { result } = await extractLooker(looker, folder, flags);
    expect(result.state).toBe('completed');
    expect(result.rateLimiter.total_429_count).toBeGreaterThan(0);
    expect(result.rateLimiter.backoff_multiplier).toBeGreaterThan(1);
    expect(vaultRows(folder)).toHaveLength(300);
  });
});
