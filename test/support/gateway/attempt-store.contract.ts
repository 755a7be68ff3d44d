// Contract of attempt stores.
import { describe, expect, it } from 'vitest';
import type { FailureClass } from '../../../src/gateway/errors.ts';
import { failureRules } from '../../../src/gateway/errors.ts';
import type { Attempt, RequestFilter } from '../../../src/gateway/types.ts';
import { requestStatuses } from '../../../src/gateway/types.ts';
import type { AttemptStore, ContentStore } from '../../../src/gateway/stores.ts';
import { typicalMs } from '../../../src/gateway/state/scores.ts';
import { exampleAttempt, exampleFailedRequest, moment } from './examples.ts';

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
      const second = exampleAttempt({ modelId: two, at: moment(5), caller: 'key:"ü"', firstTokenMs: 120.5 });
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

    it('include the last calls of all but some callers', async () => {
      const { store, modelIds } = await make();
      const [one, two] = modelIds;
      await store.append([
        exampleAttempt({ modelId: one, at: moment(1), caller: 'key:1' }),
        exampleAttempt({ modelId: one, at: moment(2), caller: 'probe' }),
        exampleAttempt({ modelId: two, at: moment(3), caller: 'probe' }),
        exampleAttempt({ modelId: two, at: moment(4), caller: 'manual' }),
      ]);
      const calls = await store.lastCalls({
        models: modelIds.map((id) => ({ id, isLocal: false })),
        since: new Date(moment(0)),
        limit: 1,
        withoutCallers: ['probe', 'manual'],
      });
      expect(calls.map(({ modelId, at }) => [modelId, at])).toEqual([[one, moment(1)]]);
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
        { modelId: one, requests: 3, successes: 2, averageSeconds: 1.5, typicalSeconds: 1.5 },
        { modelId: two, requests: 1, successes: 0, averageSeconds: 0, typicalSeconds: 0 },
      ]);
    });

    it('have the average time of up to 200 tokens', async () => {
      const { store, modelIds } = await make();
      const [modelId] = modelIds;
      const attempts = [
        { durationMs: 20_500, completionTokens: 2_000, firstTokenMs: 500 },
        { durationMs: 20_000, completionTokens: 2_000 },
        { durationMs: 900, completionTokens: 0 },
        { durationMs: 400, completionTokens: 2_000, firstTokenMs: 500 },
      ].map((change, index) => exampleAttempt({ modelId, requestId: `${index}`, ...change }));
      const failed = exampleAttempt({ modelId, requestId: 'failed', outcome: 'timeout', durationMs: 60_000 });
      await store.append([...attempts, failed]);
      const expected = attempts.reduce((sum, attempt) => sum + typicalMs(attempt), 0) / 4 / 1_000;
      expect((await store.stats({}))[0]?.typicalSeconds).toBeCloseTo(expected, 9);
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

    it('count a rejected request that another model completed', async () => {
      const { store, modelIds } = await make();
      const [modelId] = modelIds;
      const of = (requestId: string, change: Partial<Attempt> = {}) =>
        exampleAttempt({ modelId, requestId, outcome: 'validation', ...change });
      await store.append([of('at fault'), of('not at fault', { isModelsFault: true })]);
      expect(await store.stats({})).toMatchObject([{ modelId, requests: 1, successes: 0 }]);
      const range = { models: [{ id: modelId, isLocal: false }], since: new Date(moment(0)), limit: 10 };
      expect(await store.lastCalls(range)).toMatchObject([{ outcome: 'validation' }]);
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

    it('show requests by the row with which they ended, the last first, in pages', async () => {
      const { store, modelIds } = await make();
      const [one, two] = modelIds;
      await store.append([
        exampleAttempt({ modelId: one, requestId: 'a', outcome: 'timeout', endsRequest: false }),
        exampleAttempt({
          modelId: two,
          requestId: 'a',
          at: moment(1_000),
          callNumber: 2,
          waitedMs: 1_000,
          durationMs: 500,
          firstTokenMs: 200,
          cacheReadTokens: 4,
          cacheWriteTokens: 2,
          costUsd: 0.125,
          api: 'messages',
          requestedModel: 'auto',
        }),
        exampleFailedRequest({ requestId: 'b/xyz', at: moment(2_000), caller: 'key:1' }),
        exampleAttempt({
          modelId: one,
          requestId: 'c',
          at: moment(3_000),
          outcome: 'network',
          endsRequest: false,
        }),
        exampleFailedRequest({
          requestId: 'c',
          at: moment(3_000),
          durationMs: 50,
          errorCode: 'GATEWAY_EXHAUSTED',
          calls: 1,
          requestedModel: 'a/one',
        }),
        exampleAttempt({ modelId: one, requestId: 'd', at: moment(4_000), outcome: 'canceled' }),
        exampleAttempt({ modelId: one, requestId: 'e', at: moment(5_000), outcome: 'network' }),
      ]);
      await store.append([
        exampleFailedRequest({ requestId: 'f', errorCode: 'canceled', at: moment(6_000) }),
      ]);
      const since = new Date(moment(0));
      const list = (filter: Partial<RequestFilter> = {}) => store.requests({ since, limit: 10, ...filter });
      const ids = async (filter: Partial<RequestFilter> = {}) =>
        (await list(filter)).map(({ requestId }) => requestId);
      const all = await list();
      expect(all.map(({ requestId, status, outcome }) => [requestId, status, outcome])).toEqual([
        ['f', 'canceled', 'canceled'],
        ['e', 'failed', 'network'],
        ['d', 'canceled', 'canceled'],
        ['c', 'failed', 'GATEWAY_EXHAUSTED'],
        ['b/xyz', 'rejected', 'GATEWAY_KEY_LIMIT_REACHED'],
        ['a', 'completed', 'success'],
      ]);
      expect(all.at(-1)).toEqual({
        id: expect.any(Number) as number,
        requestId: 'a',
        at: moment(0),
        caller: 'admin',
        api: 'messages',
        requestedModel: 'auto',
        status: 'completed',
        outcome: 'success',
        modelId: two,
        calls: 2,
        durationMs: 1_500,
        firstTokenMs: 1_200,
        promptTokens: 10,
        completionTokens: 5,
        cacheReadTokens: 4,
        cacheWriteTokens: 2,
        costUsd: 0.125,
      });
      expect(await ids({ limit: 2, after: all[1]?.id })).toEqual(['d', 'c']);
      expect(await ids({ since: new Date(moment(4_000)) })).toEqual(['f', 'e', 'd']);
      expect(await ids({ caller: 'key:1' })).toEqual(['b/xyz']);
      expect(await ids({ requestId: 'b' })).toEqual(['b/xyz']);
      expect(await ids({ requestId: 'a' })).toEqual(['a']);
      expect(await ids({ model: { name: 'a/one', ids: [one] } })).toEqual(['e', 'd', 'c']);
      for (const status of requestStatuses)
        expect(await ids({ status })).toEqual(
          all.filter((each) => each.status === status).map(({ requestId }) => requestId),
        );
      // They are no attempts.
      expect(await store.list({ limit: 10 })).toHaveLength(5);
    });

    it('show one request with its attempts in order', async () => {
      const { store, modelIds } = await make();
      const [one, two] = modelIds;
      const first = exampleAttempt({ modelId: one, outcome: 'rate-limit', endsRequest: false });
      const second = exampleAttempt({
        modelId: two,
        outcome: 'server-error',
        at: moment(100),
        waitedMs: 100,
        endsRequest: false,
      });
      await store.append([
        second,
        first,
        exampleAttempt({ modelId: one, requestId: 'other' }),
        exampleFailedRequest({ errorCode: 'GATEWAY_EXHAUSTED', calls: 2, durationMs: 300 }),
      ]);
      const [ended] = await store.requests({ since: new Date(moment(0)), requestId: 'r1', limit: 1 });
      expect(await store.request(ended?.id ?? 0)).toEqual({ request: ended, attempts: [first, second] });
      expect(await store.request((ended?.id ?? 0) + 1_000)).toBeUndefined();
      // An attempt that did not end its request is none of the log.
      expect(await store.request((ended?.id ?? 0) - 3)).toBeUndefined();
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

/** `make` returns an empty store. */
export function describeContentStoreContract(name: string, make: () => Promise<ContentStore>): void {
  describe(`bodies of requests in ${name}`, () => {
    it('are replaced by request id, and purged by their time', async () => {
      const store = await make();
      const content = (requestId: string, ms: number, response: string | null = 'ü "x"') => ({
        requestId,
        at: new Date(moment(ms)),
        request: '{}',
        response,
      });
      await store.append([]);
      await store.append([content('a', 1), content('b', 2), content('a', 3, null)]);
      await store.append([content('b', 4, 'later')]);
      expect(await store.get('a')).toEqual(content('a', 3, null));
      expect(await store.get('b')).toEqual(content('b', 4, 'later'));
      expect(await store.get('c')).toBeUndefined();
      expect(await store.purge(new Date(moment(3)), 10)).toBe(0);
      expect(await store.purge(new Date(moment(10)), 1)).toBe(1);
      expect(await store.get('a')).toBeUndefined();
      expect(await store.get('b')).toBeDefined();
    });
  });
}
