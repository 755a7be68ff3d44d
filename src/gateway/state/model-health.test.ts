// When a model counts as failing, and when it works again.
import { describe, expect, it } from 'vitest';
import type { Attempt } from '../types.ts';
import { exampleAttempt, exampleModel } from '../../../test/support/gateway/examples.ts';
import { stateWorld } from '../../../test/support/gateway/state-world.ts';

async function openHealth(change: { isLocal?: boolean } = {}) {
  const world = stateWorld();
  const changes: string[] = [];
  const state = await world.open({
    configured: [exampleModel('a', change)],
    onHealthChange: ({ name }, { isFailing }) => changes.push(`${name} ${isFailing ? 'failing' : 'works'}`),
  });
  const id = state.models.list()[0]?.id ?? 0;
  let requests = 0;
  /** One request per letter: s succeeds, f fails; of another process if `given` says so. */
  const calls = async (letters: string, given: Partial<Attempt> = {}, target = state) => {
    for (const letter of letters) {
      await world.clock.advance(1_000);
      const outcome = letter === 's' ? 'success' : 'server-error';
      target.attempts.record(
        exampleAttempt({
          requestId: `r${requests++}`,
          modelId: id,
          at: world.clock.now(),
          outcome,
          ...given,
        }),
      );
    }
  };
  return { ...world, state, id, calls, changes, health: () => state.health.of(id) };
}

describe('a model', () => {
  it.for([
    ['', false],
    ['ff', false],
    ['fff', true],
    ['sssssssfff', true],
    ['fsf', true],
    ['sfsfsfsfsf', false],
    ['fsfsffsfsf', true],
    ['fffs', true],
    ['fffss', true],
    ['ffffffffffss', true],
    ['ffffffffffsss', false],
    ['ffffffffffsssf', true],
    ['ffffffffffsssssssssf', false],
  ] as const)('after the calls "%s" is failing: %s (T3)', async ([letters, expected]) => {
    const { calls, health, state } = await openHealth();
    await calls(letters);
    expect(health().isFailing).toBe(expected);
    await state.close();
  });

  it('has a success rate of the last 15 minutes, each request counted once', async () => {
    const { calls, health, clock, state } = await openHealth();
    expect(health()).toMatchObject({ requests: 0, lastFailure: null });
    await calls('sf');
    expect(health()).toMatchObject({ requests: 2, successes: 1, lastFailure: 'server-error' });
    await clock.advance(14 * 60_000);
    await calls('s');
    expect(health()).toMatchObject({ requests: 3, successes: 2, lastFailure: null });
    await clock.advance(90_000);
    expect(health()).toMatchObject({ requests: 1, successes: 1 });
    await clock.advance(15 * 60_000);
    expect(health()).toMatchObject({ requests: 0 });
    await state.close();
  });

  it('reports each change once: as an event, and to the process that made the call', async () => {
    const { calls, named, changes, state } = await openHealth();
    await calls('fffffsssss');
    expect(named('gateway:model-state-changed')).toEqual([
      { model: 'a', state: 'failing' },
      { model: 'a', state: 'available' },
    ]);
    expect(changes).toEqual(['a failing', 'a works']);
    await state.close();
  });

  it('is failing in every process of the store within 15 s, also in one that starts later', async () => {
    const { calls, changes, open, clock, id, state } = await openHealth();
    const worker = await open({ configured: [exampleModel('a')] });
    const server = await open({ configured: [exampleModel('a')] });
    await calls('fff', {}, worker);
    await clock.advance(15_000);
    expect(server.health.of(id)).toMatchObject({ isFailing: true, requests: 3, successes: 0 });
    const later = await open({ configured: [exampleModel('a')] });
    expect(later.health.of(id).isFailing).toBe(true);
    await calls('sss', {}, worker);
    await clock.advance(15_000);
    expect(server.health.of(id)).toMatchObject({ isFailing: false, requests: 6, successes: 3 });
    // The ledger is written by the process that made the calls.
    expect(changes).toEqual([]);
    for (const each of [worker, server, later, state]) await each.close();
  });

  it('is not failing because of its callers', async () => {
    const { calls, health, state } = await openHealth();
    for (const outcome of [
      'validation',
      'context-too-long',
      'content-refused',
      'rate-limit',
      'canceled',
    ] as const)
      await calls('fff', { outcome });
    await calls('fff', { outcome: 'deadline-too-short', durationMs: 9_000, completionTokens: 0 });
    await calls('fff', { outcome: 'canceled', durationMs: 60_000, completionTokens: 5 });
    await calls('fff', { isStale: true });
    expect(health()).toMatchObject({ isFailing: false, requests: 0 });
    await state.close();
  });

  it.for(['canceled', 'deadline-too-short'] as const)(
    'is failing when it hangs until its callers give up: %s',
    async (outcome) => {
      const { calls, health, state } = await openHealth();
      await calls('fff', { outcome, durationMs: 10_000, completionTokens: 0 });
      expect(health()).toMatchObject({ isFailing: true, lastFailure: outcome });
      await state.close();
    },
  );

  it('is failing at its limit if it is local: then it does not cool down', async () => {
    const { calls, health, state } = await openHealth({ isLocal: true });
    await calls('fff', { outcome: 'rate-limit' });
    expect(health().isFailing).toBe(true);
    await state.close();
  });

  it('is judged again when an operator clears its cooldowns', async () => {
    const { calls, health, state, id, clock } = await openHealth();
    await calls('ffff');
    await clock.advance(1);
    await clock.run(state.cooldowns.clear(id));
    expect(health().isFailing).toBe(false);
    await calls('fff');
    expect(health().isFailing).toBe(true);
    await state.close();
  });

  it('is judged by the start of its calls: one that hung does not outweigh later successes', async () => {
    const { calls, health, state, clock } = await openHealth();
    const hanging = clock.now();
    await calls('sss');
    await calls('fff', { at: hanging });
    expect(health().isFailing).toBe(false);
    await state.close();
  });

  it('is not judged by calls of more than an hour ago', async () => {
    const { calls, health, state, clock } = await openHealth();
    await calls('fff');
    await clock.advance(59 * 60_000);
    expect(health().isFailing).toBe(true);
    await clock.advance(60_000);
    expect(health().isFailing).toBe(false);
    await state.close();
  });
});
