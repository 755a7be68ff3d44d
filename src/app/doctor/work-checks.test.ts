import { describe, expect, it } from 'vitest';
import type { JobQueue, JobState, JobView } from '../../core/index.ts';
import type { ModelView } from '../../gateway/index.ts';
import { alerts, graph, jobs, ledger, modelKeys, models, vectors } from './work-checks.ts';

const now = Date.parse('2026-03-01T12:00:00Z');

const model = (name: string, change: Partial<ModelView> = {}) =>
  ({
    name,
    origin: 'added',
    isConfigured: true,
    keySource: 'A_KEY',
    needs: null,
    availableAt: null,
    ...change,
  }) as ModelView;

const queue = (
  counts: Readonly<Partial<Record<JobState, number>>>,
  pending: readonly Partial<JobView>[] = [],
) =>
  ({
    counts: async () =>
      Object.entries(counts).map(([state, count]) => ({ name: 'x', state: state as JobState, count })),
    list: async () => pending,
  }) as unknown as Pick<JobQueue, 'counts' | 'list'>;

describe('checks of the work', () => {
  it('say which models can be asked, and when none can', () => {
    expect(models([model('a'), model('b', { isConfigured: false })])).toMatchObject({
      state: 'ok',
      detail: '1 of 1 models can be asked now: a (A_KEY).',
    });
    expect(models([model('a'), model('b', { availableAt: new Date(now) })])).toMatchObject({
      state: 'ok',
      detail: '1 of 2 models can be asked now: a (A_KEY). Not now: b (A_KEY).',
    });
    expect(models([model('a', { isConfigured: false })]).state).toBe('not-configured');
    expect(models([model('a', { availableAt: new Date(now) })])).toMatchObject({
      state: 'warning',
      remedy: expect.stringContaining('headworks models warm') as string,
    });
  });

  it('name models that somebody added and whose key is missing', () => {
    expect(modelKeys([model('catalogue', { origin: 'built-in', isConfigured: false })], []).state).toBe('ok');
    expect(modelKeys([model('a')], []).state).toBe('ok');
    expect(modelKeys([model('a'), model('b', { isConfigured: false, needs: 'B_KEY' })], [])).toMatchObject({
      state: 'warning',
      detail: 'Without a key: b (set B_KEY).',
    });
  });

  it('name models whose key the provider refuses, while they are switched on', () => {
    const refused = [
      { subject: 'a', cause: 'authentication' },
      { subject: 'switched-off', cause: 'payment' },
    ];
    expect(modelKeys([model('a', { origin: 'built-in' }), model('b')], refused)).toMatchObject({
      state: 'warning',
      detail: 'Refused by the provider: a (A_KEY: authentication).',
      remedy: expect.stringContaining('headworks ledger list --kind gateway.key-rejected') as string,
    });
    expect(modelKeys([model('b')], refused).state).toBe('ok');
  });

  it('say that nobody makes vectors', () => {
    expect(
      vectors({ problem: () => null, current: () => ({ state: 'off', why: 'No model embeds.' }) } as never),
    ).toMatchObject({
      state: 'not-configured',
      detail: 'Nobody makes vectors; search goes by words. No model embeds.',
    });
    const ready = { current: () => ({ state: 'ready', embedder: { model: 'e' } }) };
    expect(vectors({ ...ready, problem: () => null } as never).detail).toBe('Made by e.');
    const named = { why: 'There is no model e.', remedy: 'Add it.' };
    expect(vectors({ ...ready, problem: () => named } as never)).toMatchObject({
      state: 'problem',
      detail: named.why,
      remedy: named.remedy,
    });
  });

  it('find a graph that cannot be used', () => {
    const status = (state: string, detail: string | null = null) =>
      ({ backend: 'age', state, detail }) as Parameters<typeof graph>[0];
    expect(graph(status('available')).state).toBe('ok');
    expect(graph(status('off')).state).toBe('not-configured');
    expect(graph(status('unavailable', 'AGE is gone.'))).toMatchObject({
      state: 'problem',
      detail: 'The graph (age) cannot be used now. AGE is gone.',
    });
  });

  it('warn of jobs that failed, and of jobs that nobody takes', async () => {
    const added = (minutesAgo: number) => ({
      createdAt: new Date(now - minutesAgo * 60_000),
      startAfter: null,
    });
    expect((await jobs(queue({ queued: 1 }, [added(9)]), now)).state).toBe('ok');
    expect(await jobs(queue({ queued: 1 }, [added(11)]), now)).toMatchObject({
      state: 'warning',
      detail: '1 queued, 0 running, 0 failed. 1 should have started long ago.',
    });
    expect(await jobs(queue({ failed: 2 }), now)).toMatchObject({
      state: 'warning',
      remedy: expect.stringContaining('headworks jobs retry') as string,
    });
  });

  it('count what is degraded by kind', async () => {
    const store = (open: number) => ({ counts: async () => [{ kind: 'demo.broken', open, repaired: 3 }] });
    const repairs = (isKnown: boolean) => ({ get: () => (isKnown ? ({} as never) : undefined) });
    expect((await ledger(store(0) as never, repairs(true))).state).toBe('ok');
    expect(await ledger(store(2) as never, repairs(true))).toEqual({
      state: 'warning',
      detail: 'Open: demo.broken: 2.',
      remedy: expect.stringMatching(/^headworks repair tries/) as string,
    });
    expect((await ledger(store(2) as never, repairs(false))).remedy).toContain('headworks ledger list');
  });

  it('name alerts that fire, not those that only might', () => {
    const alert = (state: 'pending' | 'firing') => ({
      list: () => [
        {
          name: 'HeadworksX',
          organizationId: null,
          severity: 'warning' as const,
          message: 'Look.',
          since: new Date(),
          state,
        },
      ],
    });
    expect(alerts(alert('pending')).state).toBe('ok');
    expect(alerts(alert('firing'))).toMatchObject({
      state: 'warning',
      detail: 'Firing: HeadworksX (Look.)',
      remedy: expect.stringContaining('docs/operations.md') as string,
    });
  });
});
