// Contract of stores of sources and runs.
import { describe, expect, it } from 'vitest';
import { noFigures } from '../../../src/extraction/runs/stores.ts';
import type {
  ExtractionRun,
  InTransaction,
  RunStore,
  SourceStore,
} from '../../../src/extraction/runs/stores.ts';
import type { ExtractionSource } from '../../../src/extraction/vocabulary.ts';

export interface RunStores {
  readonly sources: SourceStore;
  readonly runs: RunStore;
  readonly inTransaction: InTransaction;
}

const idOf = (number: number): string => `0195a1b2-c3d4-7e5f-8a9b-${String(number).padStart(12, '0')}`;
const at = (ms: number): Date => new Date(Date.parse('2026-03-01T12:00:00Z') + ms);

export function exampleSource(change: object = {}): ExtractionSource {
  return {
    id: idOf(1),
    name: 'acme',
    kind: 'looker',
    settings: {
      base_url: 'https://acme.example',
      client_id_env: 'LOOKER_CLIENT_ID',
      client_secret_env: 'LOOKER_CLIENT_SECRET',
    },
    options: { workers: 3, types: ['looks'] },
    schedule: '0 4 * * *',
    vault: 'acme.vault',
    is_active: true,
    isFromFile: false,
    createdAt: at(0),
    modifiedAt: at(0),
    lastScheduledAt: at(0),
    ...change,
  };
}

export function exampleRun(number: number, change: Partial<ExtractionRun> = {}): ExtractionRun {
  return {
    ...noFigures,
    id: idOf(number),
    source: 'acme',
    origin: 'http',
    vault: 'acme.vault',
    state: 'running',
    jobId: 'job',
    session: null,
    startedAt: at(0),
    finishedAt: null,
    reportedAt: at(0),
    message: null,
    ...change,
  };
}

/** `make` returns empty stores. */
export function describeRunStoresContract(name: string, make: () => Promise<RunStores>): void {
  describe(`sources and runs in ${name}`, () => {
    it('returns sources as they were stored, by name', async () => {
      const { sources } = await make();
      const acme = exampleSource();
      const shop = exampleSource({
        id: idOf(2),
        name: 'Shop',
        kind: 'rest',
        settings: { definition: 'name: "ü"\n' },
        schedule: null,
        isFromFile: true,
      });
      await sources.add(acme);
      await sources.add(shop);
      expect(await sources.list()).toEqual([shop, acme]);
      expect(await sources.get(acme.id)).toEqual(acme);
      expect(await sources.get('nonsense')).toBeNull();
      await expect(sources.add(exampleSource({ id: idOf(3) }))).rejects.toMatchObject({ code: 'CONFLICT' });
    });

    it('changes and removes what is there, and nothing else', async () => {
      const { sources } = await make();
      await sources.add(exampleSource());
      const changed = exampleSource({ schedule: null, options: {}, is_active: false, modifiedAt: at(5) });
      expect(await sources.update({ ...changed, name: 'other', createdAt: at(9) })).toBe(true);
      expect(await sources.list()).toEqual([changed]);
      expect(await sources.update(exampleSource({ id: idOf(2) }))).toBe(false);
      expect(await sources.remove(idOf(2))).toBe(false);
      expect(await sources.remove(idOf(1))).toBe(true);
      expect(await sources.list()).toEqual([]);
    });

    it('lets one server claim each occurrence, and none when the source has changed', async () => {
      const { sources, inTransaction } = await make();
      const seen = exampleSource();
      await sources.add(seen);
      const claim = (source: ExtractionSource, moment: Date) =>
        inTransaction((transaction) => sources.claim(source, moment, transaction));
      const taken = await Promise.all([1, 2, 3, 4].map((ms) => claim(seen, at(ms))));
      expect(taken.filter(Boolean)).toHaveLength(1);
      const now = await sources.get(seen.id);
      expect(await claim(seen, at(10))).toBe(false);
      expect(await claim(now ?? seen, at(10))).toBe(true);
      const next = { ...seen, lastScheduledAt: at(10) };
      await sources.update({ ...next, schedule: '1 1 * * *' });
      expect(await claim(next, at(20))).toBe(false);
      await sources.update({ ...next, is_active: false });
      expect(await claim(next, at(20))).toBe(false);
    });

    it('keeps the newest state of a run, and never overwrites a run of another origin', async () => {
      const { runs } = await make();
      const run = exampleRun(1, { state: 'queued', startedAt: null });
      expect(await runs.put(run)).toBe(true);
      expect(await runs.get(run.id)).toEqual(run);
      const later = exampleRun(1, {
        state: 'incomplete',
        types: [{ type: 'looks', items: 3, total: null, state: 'incomplete' }],
        calls: 7,
        rateLimitedCalls: 2,
        multiplier: 1.5,
        itemsPerSecond: 0.25,
        session: 's',
        finishedAt: at(9),
        message: 'some are missing',
      });
      expect(await runs.put(later)).toBe(true);
      expect(await runs.get(run.id)).toEqual(later);
      expect(await runs.put({ ...later, origin: 'cli', message: 'mine' })).toBe(false);
      expect(await runs.get(run.id)).toEqual(later);
      expect(await runs.get('nonsense')).toBeNull();
    });

    it('lists by source and state, newest first, in pages', async () => {
      const { runs } = await make();
      for (const number of [1, 2, 3, 4])
        await runs.put(exampleRun(number, number === 3 ? { source: 'shop', state: 'failed' } : {}));
      const numbers = async (filter: object) =>
        (await runs.list({ limit: 10, ...filter })).map(({ id }) => Number(id.slice(-3)));
      expect(await numbers({})).toEqual([4, 3, 2, 1]);
      expect(await numbers({ source: 'acme' })).toEqual([4, 2, 1]);
      expect(await numbers({ states: ['failed', 'queued'] })).toEqual([3]);
      expect(await numbers({ limit: 2, before: idOf(4) })).toEqual([3, 2]);
    });

    it('interrupts queued runs on request, and running ones without a heartbeat', async () => {
      const { runs } = await make();
      await runs.put(exampleRun(1, { state: 'queued' }));
      await runs.put(exampleRun(2, { reportedAt: at(10) }));
      await runs.put(exampleRun(3, { reportedAt: at(20) }));
      await runs.put(exampleRun(4, { state: 'completed', finishedAt: at(1) }));
      expect(await runs.interruptQueued(idOf(2), 'no', at(30))).toBe(false);
      expect(await runs.interruptQueued('nonsense', 'no', at(30))).toBe(false);
      expect(await runs.interruptQueued(idOf(1), 'stopped', at(30))).toBe(true);
      expect(await runs.interruptStale(at(20), 'silent')).toBe(1);
      expect(await runs.list({ limit: 10 })).toMatchObject([
        { state: 'completed' },
        { state: 'running', finishedAt: null },
        { state: 'interrupted', finishedAt: at(10), message: 'silent' },
        { state: 'interrupted', finishedAt: at(30), message: 'stopped' },
      ]);
    });

    it('purges only runs that ended before the given time, and at most the given number', async () => {
      const { runs } = await make();
      for (const number of [1, 2, 3])
        await runs.put(exampleRun(number, { state: 'failed', finishedAt: at(number) }));
      await runs.put(exampleRun(4));
      expect(await runs.purge(at(1), 10)).toBe(0);
      expect(await runs.purge(at(3), 1)).toBe(1);
      expect(await runs.purge(at(3), 10)).toBe(1);
      expect((await runs.list({ limit: 10 })).map(({ id }) => id)).toEqual([idOf(4), idOf(3)]);
    });
  });
}
