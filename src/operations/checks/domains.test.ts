import { describe, expect, it } from 'vitest';
import type { JobQueue, JobState, JobView } from '../../core/index.ts';
import type { ModelView } from '../../gateway/index.ts';
import { alerts, graph, jobs, ledger, modelKeys, models, vectors } from './domains.ts';

const now = Date.parse('2026-03-01T12:00:00Z');

const model = (name: string, change: Partial<ModelView> = {}) =>
  ({
    name,
    origin: 'custom',
    missedLists: 0,
    retiredAt: null,
    isConfigured: true,
    keySource: 'A_KEY',
    needs: null,
    state: change.isConfigured === false ? 'no-key' : 'available',
    health: {
      isFailing: false,
      requestCount: 0,
      successRate: null,
      lastFailure: null,
      backoffUntil: null,
    },
    ...change,
  }) as ModelView;

const failing = (name: string) =>
  model(name, {
    state: 'failing',
    health: {
      isFailing: true,
      requestCount: 18,
      successRate: 0,
      lastFailure: 'server-error',
      backoffUntil: null,
    },
  });

const queue = (
  counts: Readonly<Partial<Record<JobState, number>>>,
  pending: readonly Partial<JobView>[] = [],
) =>
  ({
    counts: async () =>
      Object.entries(counts).map(([state, count]) => ({ name: 'x', state: state as JobState, count })),
    list: async () => pending,
  }) as unknown as Pick<JobQueue, 'counts' | 'list'>;

describe('checks of the domains', () => {
  it('name the available models, and fail when none is available (T3)', () => {
    expect(models([model('a'), model('b', { isConfigured: false })])).toMatchObject({
      state: 'ok',
      detail: '1 of 1 models are available: a (A_KEY).',
    });
    expect(models([model('a'), model('b', { state: 'cooling-down' })])).toMatchObject({
      state: 'ok',
      detail: '1 of 2 models are available: a (A_KEY). Cooling down or out of quota: b (A_KEY).',
    });
    expect(models([model('a', { isConfigured: false })]).state).toBe('not-configured');
    expect(models([model('a', { state: 'quota-exhausted' })])).toMatchObject({
      state: 'problem',
      remedy: expect.stringContaining('headworks models clear-cooldown') as string,
    });
    expect(models([model('a'), failing('b')])).toMatchObject({
      state: 'warning',
      detail:
        '1 of 2 models are available: a (A_KEY). ' +
        'Failing: b (server-error, 0% of 18 requests in 15 minutes succeeded).',
      remedy: expect.stringContaining('headworks models explain') as string,
    });
    expect(models([failing('a'), failing('b')])).toMatchObject({
      state: 'problem',
      detail: expect.stringMatching(/^None of 2 models is available\. Failing: a \(server-error, /) as string,
    });
  });

  it('name added models without a key', () => {
    expect(modelKeys([model('catalog', { origin: 'built-in', isConfigured: false })], []).state).toBe('ok');
    expect(modelKeys([model('a')], []).state).toBe('ok');
    expect(modelKeys([model('a'), model('b', { isConfigured: false, needs: 'B_KEY' })], [])).toMatchObject({
      state: 'warning',
      detail: 'Without a key: b (set B_KEY).',
    });
  });

  it('name enabled models whose key the provider rejects', () => {
    const rejected = [
      { kind: 'gateway.key-rejected', subject: 'a', cause: 'authentication' },
      { kind: 'gateway.key-rejected', subject: 'disabled', cause: 'payment' },
    ];
    expect(modelKeys([model('a', { origin: 'built-in' }), model('b')], rejected)).toMatchObject({
      state: 'warning',
      detail: 'Rejected by the provider: a (A_KEY: authentication).',
      remedy: expect.stringContaining('headworks ledger list --kind gateway.key-rejected') as string,
    });
    expect(modelKeys([model('b')], rejected).state).toBe('ok');
  });

  it('report that there is no embedding model', () => {
    expect(
      vectors({ problem: () => null, current: () => ({ state: 'off', why: 'No model embeds.' }) }),
    ).toMatchObject({
      state: 'not-configured',
      detail: 'No embedding model; search matches words only. No model embeds.',
    });
    const ready = { current: () => ({ state: 'ready', embedder: { model: 'e' } }) };
    expect(vectors({ ...ready, problem: () => null }).detail).toBe('Made by e.');
    const named = { why: 'There is no model e.', remedy: 'Add it.' };
    expect(vectors({ ...ready, problem: () => named })).toMatchObject({
      state: 'problem',
      detail: named.why,
      remedy: named.remedy,
    });
  });

  it('report a graph that is unavailable', () => {
    const status = (state: string, detail: string | null = null) =>
      ({ backend: 'age', state, detail }) as Parameters<typeof graph>[0];
    expect(graph(status('available')).state).toBe('ok');
    expect(graph(status('off')).state).toBe('not-configured');
    expect(graph(status('unavailable', 'AGE is gone.'))).toMatchObject({
      state: 'problem',
      detail: 'The graph (age) is unavailable. AGE is gone.',
    });
  });

  it('warn of failed jobs and of overdue jobs', async () => {
    const added = (minutesAgo: number) => ({
      createdAt: new Date(now - minutesAgo * 60_000),
      startAfter: null,
    });
    expect((await jobs(queue({ queued: 1 }, [added(9)]), now)).state).toBe('ok');
    expect(await jobs(queue({ queued: 1 }, [added(11)]), now)).toMatchObject({
      state: 'warning',
      detail: '1 queued, 0 running, 0 failed. 1 are overdue.',
    });
    expect(await jobs(queue({ failed: 2 }), now)).toMatchObject({
      state: 'warning',
      remedy: expect.stringContaining('headworks jobs retry') as string,
    });
  });

  it('count open ledger rows by kind', async () => {
    const store = (open: number) => ({ counts: async () => [{ kind: 'demo.broken', open, resolved: 3 }] });
    const repairs = (isKnown: boolean) => ({ get: () => (isKnown ? ({} as never) : undefined) });
    expect((await ledger(store(0) as never, repairs(true))).state).toBe('ok');
    expect(await ledger(store(2) as never, repairs(true))).toEqual({
      state: 'warning',
      detail: 'Open: demo.broken: 2.',
      remedy: expect.stringMatching(/^"headworks repair" retries/) as string,
    });
    expect((await ledger(store(2) as never, repairs(false))).remedy).toContain('headworks ledger list');
  });

  it('name firing alerts, not pending ones', () => {
    const alert = (state: 'pending' | 'firing', severity = 'warning') => [
      { name: 'HeadworksX', severity, message: 'Look.', state },
    ];
    expect(alerts(alert('pending')).state).toBe('ok');
    expect(alerts(alert('firing'))).toMatchObject({
      state: 'warning',
      detail: 'Firing: HeadworksX (Look.)',
      remedy: expect.stringContaining('docs/guide/operations.md') as string,
    });
    expect(alerts(alert('firing', 'critical')).state).toBe('problem');
  });
});
