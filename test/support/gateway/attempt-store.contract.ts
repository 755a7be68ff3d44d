// Contract of attempt stores.
import { describe, expect, it } from 'vitest';
import type { FailureClass } from '../../../src/gateway/errors.ts';
import { failureRules } from '../../../src/gateway/errors.ts';
import type { Attempt } from '../../../src/gateway/types.ts';
import type { AttemptStore } from '../../../src/gateway/stores.ts';
import { exampleAttempt, moment } from './examples.ts';

/** `make` returns an empty store with models of these ids. */
export function describeAttemptStoreContract(
  name: string,
  make: () => Promise<{ readonly store: AttemptStore; readonly modelIds: readonly [number, number] }>,
): void {
  describe(`attempts in ${name}`, () => {
    it('are listed as appended, newest first', async () => {
      const { store, modelIds } = await make();
      const [one, two] = modelIds;
      const first = exampleAttempt({ modelId: one, durationMs: 0.25, status: null, outcome: 'timeout' });
      const second = exampleAttempt({ modelId: two, at: moment(5), caller: 'key:"ü"' });
      const third = exampleAttempt({ modelId: one, at: moment(5), requestId: 'r2' });
      await store.append([first, second]);
      await store.append([third]);
      await store.append([]);
      expect(await store.list({ limit: 10 })).toEqual([third, second, first]);
      expect(await store.list({ limit: 1, modelId: two })).toEqual([second]);
    });

    it('have a history by interval', async () => {
      const { store, modelIds } = await make();
      const [modelId, other] = modelIds;
      const of = (requestId: string, at: number, change: Partial<Attempt> = {}) =>
        exampleAttempt({ requestId, modelId, at: moment(at), ...change });
      await store.append([
        of('before', -1),
        of('quick', 0, { durationMs: 1_000 }),
        of('slow', 9_999, { durationMs: 3_000 }),
        of('failed', 9_999, { outcome: 'timeout' }),
        of('not its fault', 9_999, { outcome: 'rate-limit' }),
        of('another', 9_999, { modelId: other }),
        of('later', 30_000, { durationMs: 500 }),
      ]);
      const range = { modelId, since: new Date(moment(0)), intervalMs: 10_000 };
      expect(await store.history(range)).toEqual([
        { at: moment(0), requests: 3, successes: 2, averageSeconds: 2 },
        { at: moment(30_000), requests: 1, successes: 1, averageSeconds: 0.5 },
      ]);
    });

    it('include the last calls that show whether a model works, oldest first', async () => {
      const { store, modelIds } = await make();
      const [one, two] = modelIds;
      const of = (modelId: number, at: number, outcome: Attempt['outcome'], change: Partial<Attempt> = {}) =>
        exampleAttempt({ modelId, at: moment(at), outcome, completionTokens: 0, ...change });
      await store.append([
        of(one, -1, 'success'),
        of(one, 0, 'success'),
        of(one, 1, 'timeout'),
        of(one, 2, 'network'),
        of(one, 3, 'rate-limit'),
        of(one, 4, 'validation'),
        of(one, 5, 'canceled', { durationMs: 9_999 }),
        of(one, 6, 'canceled', { durationMs: 10_000 }),
        of(two, 7, 'rate-limit'),
        of(two, 8, 'deadline-too-short', { durationMs: 20_000, completionTokens: 1 }),
        of(two, 8, 'deadline-too-short', { durationMs: 20_000 }),
      ]);
      const models = [
        { id: one, isLocal: false },
        { id: two, isLocal: true },
      ];
      const calls = async (limit: number, chosen = models) =>
        (await store.lastCalls({ models: chosen, since: new Date(moment(0)), limit })).map(
          ({ modelId, at, outcome }) => [modelId, at - moment(0), outcome],
        );
      expect(await calls(3)).toEqual([
        [one, 1, 'timeout'],
        [one, 2, 'network'],
        [one, 6, 'canceled'],
        [two, 7, 'rate-limit'],
        [two, 8, 'deadline-too-short'],
      ]);
      expect(await calls(10, [{ id: one, isLocal: false }])).toHaveLength(4);
      expect(await calls(10, [])).toEqual([]);
    });

    it('count a request once per model: a superseded failure of an earlier batch no longer counts', async () => {
      const { store, modelIds } = await make();
      const [modelId] = modelIds;
      const failed = exampleAttempt({ modelId, requestId: 'retried', outcome: 'timeout' });
      await store.append([failed]);
      await store.append([
        exampleAttempt({ modelId, requestId: 'other' }),
        exampleAttempt({ modelId, requestId: 'retried', supersedes: failed }),
      ]);
      expect(await store.stats({})).toMatchObject([{ modelId, requests: 2, successes: 2 }]);
    });

    it('count a request once per model: superseded failures of the same batch do not count', async () => {
      const { store, modelIds } = await make();
      const [one, two] = modelIds;
      const of = (requestId: string, change: Partial<Attempt>) =>
        exampleAttempt({ requestId, modelId: one, ...change });
      const recovered = of('recovered', { outcome: 'server-error', durationMs: 9_000 });
      const failed = of('failed', { outcome: 'network', at: moment(1) });
      await store.append([
        recovered,
        of('recovered', { modelId: two, outcome: 'timeout' }),
        failed,
        of('failed', { outcome: 'invalid-response', at: moment(2), supersedes: failed }),
      ]);
      await store.append([
        of('recovered', { at: moment(10), durationMs: 2_000, supersedes: recovered }),
        of('quick', { durationMs: 1_000 }),
      ]);
      expect(await store.stats({})).toEqual([
        { modelId: one, requests: 3, successes: 2, averageSeconds: 1.5 },
        { modelId: two, requests: 1, successes: 0, averageSeconds: 0 },
      ]);
    });

    it('count the later of two outcomes at the same millisecond', async () => {
      const { store, modelIds } = await make();
      const [modelId] = modelIds;
      const failed = exampleAttempt({ modelId, outcome: 'network' });
      await store.append([failed, exampleAttempt({ modelId, supersedes: failed })]);
      expect(await store.stats({})).toMatchObject([{ requests: 1, successes: 1 }]);
    });

    it('count only outcomes about reliability', async () => {
      const { store, modelIds } = await make();
      const [modelId, other] = modelIds;
      const classes = Object.keys(failureRules) as FailureClass[];
      await store.append(classes.map((outcome) => exampleAttempt({ modelId, outcome, requestId: outcome })));
      const against = classes.filter((each) => failureRules[each].countsAgainst);
      expect(against).not.toContain('rate-limit');
      expect(await store.stats({})).toMatchObject([{ requests: against.length, successes: 0 }]);
      await store.append([
        exampleAttempt({ modelId: other, outcome: 'server-error' }),
        exampleAttempt({ modelId: other, outcome: 'rate-limit', at: moment(1) }),
      ]);
      expect((await store.stats({}))[1]).toMatchObject({ modelId: other, requests: 1, successes: 0 });
    });

    it('do not count calls to a former endpoint', async () => {
      const { store, modelIds } = await make();
      const [modelId] = modelIds;
      await store.append([
        exampleAttempt({ modelId, requestId: 'a', isStale: true }),
        exampleAttempt({ modelId, requestId: 'b', outcome: 'network', isStale: true }),
      ]);
      expect(await store.stats({})).toEqual([]);
      expect(await store.list({ modelId, limit: 5 })).toHaveLength(2);
    });

    it('are counted from the start of a range up to, not including, its end', async () => {
      const { store, modelIds } = await make();
      const [modelId] = modelIds;
      await store.append(
        [1, 2, 3].map((ms) => exampleAttempt({ modelId, requestId: `${ms}`, at: moment(ms) })),
      );
      const requests = async (range: object) => (await store.stats(range))[0]?.requests ?? 0;
      const two = new Date(moment(2));
      expect(await requests({ since: two })).toBe(2);
      expect(await requests({ before: two })).toBe(1);
      expect(await requests({ since: two, before: new Date(moment(3)) })).toBe(1);
      expect(await requests({ since: new Date(moment(4)) })).toBe(0);
    });

    it('are purged oldest first, up to the limit', async () => {
      const { store, modelIds } = await make();
      const [modelId] = modelIds;
      await store.append([3, 1, 2].map((ms) => exampleAttempt({ modelId, at: moment(ms) })));
      expect(await store.purge(new Date(moment(1)), 10)).toBe(0);
      expect(await store.purge(new Date(moment(3)), 1)).toBe(1);
      expect((await store.list({ limit: 10 })).map(({ at }) => at)).toEqual([moment(3), moment(2)]);
      expect(await store.purge(new Date(moment(3)), 10)).toBe(1);
    });
  });
}
