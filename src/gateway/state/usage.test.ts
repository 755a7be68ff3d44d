// Daily tokens of all processes, each counted once.
import { describe, expect, it } from 'vitest';
import type { UsageStore } from '../stores.ts';
import { exampleAttempt, exampleUsage, moment } from '../../../test/support/gateway/examples.ts';
import { stateWorld } from '../../../test/support/gateway/state-world.ts';
import { callerOfKey, usageTotals } from './gateway-keys.ts';

const caller = callerOfKey('a');
const use = (tokens: number, at = moment(0)) =>
  exampleAttempt({ caller, promptTokens: tokens, completionTokens: 0, at });

describe('UsageTracker', () => {
  it('counts the cost of an attempt at once, and only once when it is written', async () => {
    const { open, clock, memory } = stateWorld();
    const { usage, attempts } = await open();
    attempts.record(use(10));
    attempts.record({ ...use(5), outcome: 'network' });
    attempts.record({ ...use(0), outcome: 'server-error' });
    expect(usage.usedToday(caller).tokens).toBe(15);
    await clock.advance(500);
    expect(usage.usedToday(caller).tokens).toBe(15);
    expect(await memory.usage.list({ fromDay: '2026-01-01' })).toEqual([
      {
        day: '2026-03-01',
        caller,
        modelId: 1,
        requests: 2,
        promptTokens: 15,
        completionTokens: 0,
        costUsd: null,
        unpricedRequests: 2,
      },
    ]);
    await usage.reload.refresh();
    expect(usage.usedToday(caller).tokens).toBe(15);
    expect(usage.usedToday('unknown').tokens).toBe(0);
  });

  it('sums known costs, and counts requests whose cost is unknown', async () => {
    const { open, clock, memory } = stateWorld();
    const { usage, attempts } = await open();
    attempts.record({ ...use(10), costUsd: 0.25 });
    attempts.record({ ...use(10), costUsd: 0.5 });
    attempts.record({ ...use(10), costUsd: null });
    attempts.record({ ...use(10), modelId: 2, costUsd: null });
    expect(usage.usedToday(caller)).toEqual({ tokens: 40, usd: 0.75 });
    await clock.advance(500);
    expect(usage.usedToday(caller)).toEqual({ tokens: 40, usd: 0.75 });
    const rows = await memory.usage.list({ fromDay: '2026-01-01' });
    expect(rows).toMatchObject([
      { modelId: 1, requests: 3, costUsd: 0.75, unpricedRequests: 1 },
      { modelId: 2, requests: 1, costUsd: null, unpricedRequests: 1 },
    ]);
    expect(usageTotals([...rows, exampleUsage({ caller: 'other' })])).toMatchObject([
      { caller, requests: 4, promptTokens: 40, costUsd: 0.75, unpricedRequests: 2 },
      { caller: 'other', costUsd: null },
    ]);
  });

  it('does not count twice what is read while it is being written', async () => {
    const { open, clock, stores, memory } = stateWorld();
    const slow: UsageStore = {
      add: async (lines) => {
        await memory.usage.add(lines);
        await clock.sleep(50);
      },
      list: (filter) => memory.usage.list(filter),
      purge: (beforeDay, limit) => memory.usage.purge(beforeDay, limit),
    };
    const { usage, attempts } = await open({ stores: { ...stores, usage: slow } });
    attempts.record(use(10));
    await clock.advance(510);
    const read = usage.reload.refresh();
    await clock.advance(100);
    await read;
    expect(usage.usedToday(caller).tokens).toBe(10);
  });

  it('includes the usage of other processes with a delay', async () => {
    const world = stateWorld();
    const [one, two] = [await world.open(), await world.open()];
    one.attempts.record(use(10));
    two.attempts.record(use(3));
    await world.clock.advance(16_000);
    expect([one, two].map(({ usage }) => usage.usedToday(caller).tokens)).toEqual([13, 13]);
    one.attempts.record(use(1));
    expect(one.usage.usedToday(caller).tokens).toBe(14);
  });

  it('starts over at midnight UTC; attempts started before count for the day before', async () => {
    const { open, clock } = stateWorld();
    const { usage, attempts } = await open();
    attempts.record(use(10));
    await clock.advance(12 * 3_600_000);
    expect(usage.usedToday(caller).tokens).toBe(0);
    attempts.record(use(7, moment(0)));
    attempts.record(use(2, clock.now()));
    expect(usage.usedToday(caller).tokens).toBe(2);
    await clock.advance(500);
    expect(usage.usedToday(caller).tokens).toBe(2);
    const lines = await usage.list({ fromDay: '2026-03-01', caller });
    expect(lines.map(({ day, promptTokens }) => `${day} ${promptTokens}`)).toEqual([
      '2026-03-01 17',
      '2026-03-02 2',
    ]);
  });

  it('loses nothing while the store is unavailable', async () => {
    const { open, clock, goAway, comeBack, memory } = stateWorld();
    const { usage, attempts } = await open();
    goAway();
    attempts.record(use(10));
    await clock.advance(40_000);
    attempts.record(use(5));
    expect(usage.usedToday(caller).tokens).toBe(15);
    comeBack();
    await clock.advance(1_000);
    expect(usage.usedToday(caller).tokens).toBe(15);
    expect(await memory.usage.list({ fromDay: '2026-01-01' })).toMatchObject([
      { requests: 2, promptTokens: 15 },
    ]);
  });

  it('restores the usage of today after a restart', async () => {
    const { open } = stateWorld();
    const first = await open();
    first.attempts.record(use(10));
    await first.close();
    expect((await open()).usage.usedToday(caller).tokens).toBe(10);
  });

  it('ignores rows of yesterday that were read across midnight', async () => {
    const { open, clock, stores, memory } = stateWorld();
    let delayMs = 0;
    const slow: UsageStore = {
      add: (rows) => memory.usage.add(rows),
      list: async (filter) => {
        const rows = await memory.usage.list(filter);
        await clock.sleep(delayMs);
        return rows;
      },
      purge: (beforeDay, limit) => memory.usage.purge(beforeDay, limit),
    };
    await memory.usage.add([exampleUsage({ caller, completionTokens: 0 })]);
    const { usage } = await clock.run(open({ stores: { ...stores, usage: slow } }));
    expect(usage.usedToday(caller).tokens).toBe(10);
    await clock.advance(12 * 3_600_000 - 1_000);
    delayMs = 2_000;
    const read = usage.reload.refresh();
    await clock.advance(2_000);
    await read;
    expect(usage.usedToday(caller).tokens).toBe(0);
  });
});
