// The whole state: in sync with other processes, during outages, at shutdown.
import { describe, expect, it } from 'vitest';
import {
  exampleAttempt,
  exampleCooldown,
  exampleModel,
  exampleUsage,
  modelNamed,
  moment,
} from '../../../test/support/gateway/examples.ts';
import { retentionRules } from './gateway-keys.ts';
import { guarded, stateWorld } from '../../../test/support/gateway/state-world.ts';

const builtIn = [exampleModel('a/one')];

describe('GatewayState', () => {
  it('shares cooldowns and clears with other processes', async () => {
    const world = stateWorld();
    const [one, two] = [await world.open({ builtIn }), await world.open({ builtIn })];
    one.cooldowns.extend(exampleCooldown());
    await world.clock.advance(0);
    expect(two.cooldowns.of(1, 'k1')).toBeDefined();
    await two.cooldowns.clear(1);
    await world.clock.advance(0);
    expect(one.cooldowns.of(1, 'k1')).toBeUndefined();
  });

  it('watches before it loads, so that a change in between is not missed', async () => {
    const world = stateWorld();
    const { memory, stores, clock } = world;
    // The other process sets its cooldown after this one has read cooldowns, and before it is open.
    const usage = guarded(stores.usage, () => {
      if (!world.calls.includes('cooldowns.extend')) void stores.cooldowns.extend(exampleCooldown());
    });
    await memory.models.sync(builtIn, 'built-in');
    const state = await world.open({ builtIn, stores: { ...stores, usage } });
    await clock.advance(0);
    expect(state.cooldowns.of(1, 'k1')).toBeDefined();
  });

  it('polls for changes without notifications', async () => {
    const world = stateWorld();
    const state = await world.open({
      builtIn,
      stores: { ...world.stores, changes: { isShared: true, watch: async () => async () => undefined } },
    });
    const other = await world.open({ builtIn });
    await other.cooldowns.extendDurably(exampleCooldown());
    const { key } = await other.keys.create({ name: 'x', expiresAt: null });
    await world.clock.advance(15_000);
    expect(state.cooldowns.of(1, 'k1')).toBeDefined();
    expect(state.keys.check(key)?.kind).toBe('valid');
  });

  it('does not poll an unshared store without changes', async () => {
    const world = stateWorld();
    const changes = { isShared: false, watch: async () => async () => undefined };
    const state = await world.open({ builtIn, stores: { ...world.stores, changes } });
    world.calls.length = 0;
    await world.clock.advance(20 * 60_000);
    expect(world.calls).toEqual([]);
    state.attempts.record(exampleAttempt());
    await world.clock.advance(60_000);
    expect(world.calls.toSorted()).toEqual([
      'attempts.append',
      'attempts.lastCalls',
      'attempts.stats',
      'attempts.stats',
      'usage.add',
    ]);
  });

  it('continues from memory while the store is unavailable and catches up afterwards', async () => {
    const world = stateWorld();
    const state = await world.open({ builtIn });
    const { key } = await state.keys.create({ name: 'x', expiresAt: null });
    world.goAway();
    state.cooldowns.extend(exampleCooldown({ until: moment(3_600_000) }));
    for (let index = 0; index < 5; index += 1)
      state.attempts.record(exampleAttempt({ requestId: `${index}` }));
    await world.clock.advance(120_000);
    expect(modelNamed(state.models, 'a/one')).toBeDefined();
    expect(state.keys.check(key)?.kind).toBe('valid');
    expect(state.cooldowns.of(1, 'k1')).toBeDefined();
    expect(state.scores.of(1).recent.requests).toBe(5);
    const failed = new Set(world.named('gateway:store-failed').map(({ what }) => what));
    expect(failed).toEqual(
      new Set([
        'attempts',
        'usage',
        'cooldowns',
        'read models',
        'read cooldowns',
        'read keys',
        'read usage',
        'read scores',
        'read model health',
      ]),
    );
    world.comeBack();
    await world.clock.advance(0);
    const restarted = await world.open({ builtIn });
    expect(restarted.cooldowns.of(1, 'k1')).toBeDefined();
    expect(restarted.scores.of(1).recent.requests).toBe(5);
    expect(restarted.usage.usedToday('admin').tokens).toBe(75);
  });

  it('fails to start without its store and leaves no timers', async () => {
    const { open, goAway, clock } = stateWorld();
    goAway();
    await expect(open({ builtIn })).rejects.toMatchObject({ code: 'STATE_UNAVAILABLE' });
    expect(clock.pending).toBe(0);
  });

  it('writes everything when it closes and stops all its timers', async () => {
    const { open, clock, memory } = stateWorld();
    const state = await open({ builtIn });
    state.attempts.record(exampleAttempt());
    state.cooldowns.extend(exampleCooldown());
    await state.close();
    expect(await memory.attempts.list({ limit: 5 })).toHaveLength(1);
    expect(await memory.usage.list({ fromDay: '2026-01-01' })).toHaveLength(1);
    expect((await memory.cooldowns.active(moment(0))).cooldowns).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });
});

describe('retentionRules', () => {
  it('deletes old attempts and usage', async () => {
    const { memory } = stateWorld();
    await memory.attempts.append([exampleAttempt()]);
    await memory.usage.add([exampleUsage()]);
    await memory.contents.append([
      { requestId: 'r1', at: new Date(moment(0)), request: 'x', response: null },
    ]);
    const rules = retentionRules(memory, {
      attemptsDays: 90,
      requestContentDays: 7,
      responsesDays: 30,
      discoveriesDays: 365,
      usageDays: 400,
    });
    expect(rules.map(({ kind, keepDays }) => [kind, keepDays])).toEqual([
      ['gateway-attempts', 90],
      ['gateway-request-contents', 7],
      ['gateway-responses', 30],
      ['gateway-discoveries', 365],
      ['gateway-usage', 400],
    ]);
    const purge = (before: Date) => Promise.all(rules.map((rule) => rule.purge(before, 10)));
    expect(await purge(new Date(moment(0)))).toEqual([0, 0, 0, 0, 0]);
    expect(await purge(new Date(moment(24 * 3_600_000)))).toEqual([1, 1, 0, 0, 1]);
  });
});
