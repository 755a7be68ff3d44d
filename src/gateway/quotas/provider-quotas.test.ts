import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { describe, expect, it } from 'vitest';
import { modelOf, scriptedKeys } from '../../../test/support/gateway/routing-world.ts';
import { CoreError } from '../../core/index.ts';
import type { Attempt, Model, Quotas, TokenEstimate } from '../types.ts';
import { MemoryQuotaCounter } from './quota-counter.ts';
import type { QuotaCounter } from './quota-counter.ts';
import { ProviderQuotas } from './provider-quotas.ts';
import { TieredCounter } from './tiered-counter.ts';

const model = (quotas: Quotas, id = 1): Model => modelOf({ name: `p/m${id}`, quotas }, id);

/** A call that costs only its prompt. */
const prompt = (tokens: number): TokenEstimate => ({
  estimatedTokens: tokens,
  estimatedPromptTokens: tokens,
});

function quotasOf(shared?: QuotaCounter, clock = new VirtualClock()) {
  const events: unknown[] = [];
  const counter = new TieredCounter({
    clock,
    shared,
    events: { emit: (name, payload) => void events.push({ name, payload }) },
  });
  const quotas = new ProviderQuotas(clock, counter);
  const takeAll = async (of: Model, tokens = 1, keyId = 'key'): Promise<number> => {
    for (let taken = 0; ; taken++)
      if ('availableAt' in (await quotas.take(of, keyId, prompt(tokens)))) return taken;
  };
  return { clock, quotas, events, takeAll };
}

describe('ProviderQuotas', () => {
  it('grants everything without a quota', async () => {
    const { quotas } = quotasOf();
    for (let call = 0; call < 1_000; call++)
      expect(await quotas.take(model({}), 'key', prompt(1_000_000))).toHaveProperty('grant');
  });

  it('grants at once only without a quota', () => {
    const { quotas } = quotasOf();
    expect(quotas.takeUnlimited(model({}))).toBeDefined();
    expect(quotas.takeUnlimited(model({ tokensPerDay: 1_000_000 }))).toBeUndefined();
  });

  it('grants what the quota allows per model and key, and returns when more is available', async () => {
    const { clock, quotas, takeAll } = quotasOf();
    const limited = model({ requestsPerMinute: 3 });
    expect(await takeAll(limited)).toBe(3);
    expect(await takeAll(limited, 1, 'other')).toBe(3);
    expect(await takeAll(model({ requestsPerMinute: 2 }, 2))).toBe(2);
    const refused = await quotas.take(limited, 'key', prompt(1));
    const availableAt = 'availableAt' in refused ? refused.availableAt : 0;
    await clock.advance(availableAt - clock.now());
    expect(await takeAll(limited)).toBe(3);
  });

  it('continues counting for a model removed and added again, and starts over when its endpoint changes', async () => {
    const { takeAll } = quotasOf();
    const quotas = { requestsPerDay: 3 };
    const place = { name: 'p/m', quotas, baseUrl: 'https://here.example/v1' };
    expect(await takeAll(modelOf(place, 1))).toBe(3);
    expect(await takeAll(modelOf(place, 2))).toBe(0);
    expect(await takeAll(modelOf({ ...place, quotas: { requestsPerDay: 5 } }, 2))).toBe(2);
    expect(await takeAll(modelOf({ ...place, baseUrl: 'https://there.example/v1' }, 3))).toBe(3);
    expect(await takeAll(modelOf({ ...place, upstream: 'other' }, 3))).toBe(3);
  });

  it('returns until when even the smallest call must wait, without taking quota', async () => {
    const { clock, quotas, takeAll } = quotasOf();
    const limited = model({ requestsPerMinute: 2, tokensPerMinute: 1_000 });
    expect(await quotas.exhaustedUntil(model({}), 'key')).toBeNull();
    for (let look = 0; look < 5; look++) expect(await quotas.exhaustedUntil(limited, 'key')).toBeNull();
    await quotas.take(limited, 'key', prompt(999));
    expect(await quotas.exhaustedUntil(limited, 'key')).toBeNull();
    expect(await takeAll(limited)).toBe(1);
    const until = (await quotas.exhaustedUntil(limited, 'key')) ?? 0;
    expect(until - clock.now()).toBeGreaterThanOrEqual(60_000);
    expect(await quotas.exhaustedUntil(limited, 'other')).toBeNull();
    await clock.advance(until - clock.now());
    expect(await quotas.exhaustedUntil(limited, 'key')).toBeNull();
  });

  it('reserves the estimate until it is settled', async () => {
    const { quotas, takeAll } = quotasOf();
    const limited = model({ tokensPerMinute: 1_000 });
    const taken = await quotas.take(limited, 'key', prompt(900));
    expect(await takeAll(limited, 200)).toBe(0);
    if (!('grant' in taken)) throw new Error('It was refused.');
    taken.grant.settle(400.5);
    taken.grant.settle(0);
    taken.grant.refund();
    expect(await takeAll(limited, 199)).toBe(3);
  });

  describe('for a completion that may exceed the quota', () => {
    const day = model({ tokensPerDay: 100_000 });
    const greedy = { estimatedTokens: 15 + 131_072, estimatedPromptTokens: 15 };

    it('reserves a tenth of it, so that earlier usage does not block the model', async () => {
      const { quotas } = quotasOf();
      await quotas.take(day, 'key', prompt(2));
      let taken = 0;
      while ('grant' in (await quotas.take(day, 'key', greedy))) taken++;
      expect(taken).toBe(9);
    });

    it('counts the actual cost in each window', async () => {
      const { quotas, takeAll } = quotasOf();
      const both = model({ tokensPerMinute: 10_000, tokensPerDay: 100_000 });
      for (const real of [4_000, 5_000]) {
        const taken = await quotas.take(both, 'key', greedy);
        if (!('grant' in taken)) throw new Error('It was refused.');
        taken.grant.settle(real);
      }
      expect(await takeAll(both, 100)).toBe(10);
    });

    it('blocks a model whose quota the prompt alone would exceed', async () => {
      const { quotas } = quotasOf();
      await quotas.take(day, 'key', prompt(60_000));
      const large = { estimatedTokens: 171_072, estimatedPromptTokens: 40_001 };
      expect(await quotas.take(day, 'key', large)).toHaveProperty('availableAt');
    });
  });

  it('refunds a grant that was not used', async () => {
    const { quotas, takeAll } = quotasOf();
    const limited = model({ requestsPerDay: 1, tokensPerMinute: 100 });
    const taken = await quotas.take(limited, 'key', prompt(100));
    if (!('grant' in taken)) throw new Error('It was refused.');
    taken.grant.refund();
    expect(await takeAll(limited, 100)).toBe(1);
  });
});

describe('after a restart', () => {
  const hour = 3_600_000;
  const attempts = (...ages: readonly number[]) => ({
    list: async ({ modelId }: { readonly modelId?: number }) =>
      ages.map(
        (age) =>
          ({
            modelId,
            at: 1_700_000_000_000 - age,
            promptTokens: 60,
            completionTokens: 40,
            caller: age === 5 ? 'manual' : 'admin',
          }) as Attempt,
      ),
  });
  const keys = (count: number) => scriptedKeys(() => count);

  it('counts the calls of the last 24 hours', async () => {
    const { clock, quotas, takeAll } = quotasOf();
    const limited = model({ requestsPerDay: 5 });
    await quotas.seed([limited], keys(1), attempts(hour, 20 * hour, 25 * hour, 5));
    expect(await takeAll(limited, 1, 'key-0')).toBe(3);
    await clock.advance(4.1 * hour);
    expect(await takeAll(limited, 1, 'key-0')).toBe(1);
  });

  it('counts their tokens, too', async () => {
    const { quotas, takeAll } = quotasOf();
    const limited = model({ tokensPerDay: 1_000 });
    await quotas.seed([limited], keys(1), attempts(hour, 2 * hour, 3 * hour));
    expect(await takeAll(limited, 100, 'key-0')).toBe(7);
  });

  it('assigns earlier calls to the keys in turn', async () => {
    const { quotas, takeAll } = quotasOf();
    const limited = model({ requestsPerDay: 5 });
    await quotas.seed([limited], keys(2), attempts(hour, 2 * hour, 3 * hour));
    expect(await takeAll(limited, 1, 'key-0')).toBe(3);
    expect(await takeAll(limited, 1, 'key-1')).toBe(4);
  });

  it('counts them once, without calls of this process', async () => {
    const { clock, quotas, takeAll } = quotasOf();
    const limited = model({ requestsPerDay: 5 });
    await clock.advance(1_000);
    const past = attempts(hour, -500);
    await quotas.seed([limited], keys(1), past);
    await quotas.seed([limited], keys(1), past);
    expect(await takeAll(limited, 1, 'key-0')).toBe(4);
  });

  it('can be repeated when the store was unavailable', async () => {
    const { quotas, takeAll } = quotasOf();
    const limited = model({ requestsPerDay: 5 });
    const away = { list: () => Promise.reject(new CoreError('STATE_UNAVAILABLE', 'away')) };
    await expect(quotas.seed([limited], keys(1), away)).rejects.toMatchObject({ code: 'STATE_UNAVAILABLE' });
    await quotas.seed([limited], keys(1), attempts(hour));
    expect(await takeAll(limited, 1, 'key-0')).toBe(4);
  });
});

describe('a shared counter', () => {
  const limited = model({ requestsPerMinute: 4 });
  const away = (): Promise<never> => Promise.reject(new CoreError('REDIS_UNAVAILABLE', 'away'));
  const silence = (): Promise<never> => new Promise(() => undefined);

  it('keeps two processes together within the quota', async () => {
    const clock = new VirtualClock();
    const shared = new MemoryQuotaCounter(clock);
    const one = quotasOf(shared, clock);
    const two = quotasOf(shared, clock);
    await one.quotas.take(limited, 'key', prompt(1));
    await two.quotas.take(limited, 'key', prompt(1));
    expect((await one.takeAll(limited)) + (await two.takeAll(limited))).toBe(2);
  });

  it('reports quota used up by other processes', async () => {
    const clock = new VirtualClock();
    const shared = new MemoryQuotaCounter(clock);
    const here = quotasOf(shared, clock).quotas;
    expect(await here.exhaustedUntil(limited, 'key')).toBeNull();
    await quotasOf(shared, clock).takeAll(limited);
    expect(await here.exhaustedUntil(limited, 'key')).toBeGreaterThan(clock.now());
  });

  it('rolls back the local count when it rejects a call', async () => {
    const clock = new VirtualClock();
    const shared = new MemoryQuotaCounter(clock);
    const one = quotasOf(shared, clock);
    const two = quotasOf(shared, clock);
    await two.takeAll(limited);
    await clock.advance(30_000);
    for (let call = 0; call < 4; call++) expect(await one.takeAll(limited)).toBe(0);
    await clock.advance(31_000);
    expect(await one.takeAll(limited)).toBe(4);
  });

  it('is corrected by actual costs', async () => {
    const clock = new VirtualClock();
    const shared = new MemoryQuotaCounter(clock);
    const tokens = model({ tokensPerMinute: 100 });
    const taken = await quotasOf(shared, clock).quotas.take(tokens, 'key', prompt(100));
    if ('grant' in taken) taken.grant.settle(20);
    expect(await quotasOf(shared, clock).takeAll(tokens, 10)).toBe(8);
  });

  it('that is unavailable leaves each process with its own count and is not called again at once', async () => {
    let calls = 0;
    const shared: QuotaCounter = { count: () => (calls++, away()), wait: away, correct: away };
    const { clock, takeAll, events } = quotasOf(shared);
    expect(await takeAll(limited)).toBe(4);
    expect(calls).toBe(1);
    expect(events).toEqual([
      {
        name: 'gateway:store-failed',
        payload: { what: 'shared quotas', cause: 'REDIS_UNAVAILABLE', waiting: 0 },
      },
    ]);
    await clock.advance(61_000);
    expect(await takeAll(limited)).toBe(4);
    expect(calls).toBe(2);
  });

  it('that throws synchronously counts as unavailable', async () => {
    const shared: QuotaCounter = {
      count: () => {
        throw new CoreError('REDIS_UNAVAILABLE', 'away');
      },
      wait: away,
      correct: away,
    };
    expect(await quotasOf(shared).takeAll(limited)).toBe(4);
  });

  it('that is available again does not reset what a process took meanwhile', async () => {
    const clock = new VirtualClock();
    const back = new MemoryQuotaCounter(clock);
    let isAway = true;
    const shared: QuotaCounter = {
      count: (...given) => (isAway ? away() : back.count(...given)),
      wait: away,
      correct: (...given) => (isAway ? away() : back.correct(...given)),
    };
    const { takeAll } = quotasOf(shared, clock);
    expect(await takeAll(limited)).toBe(4);
    isAway = false;
    await clock.advance(6_000);
    expect(await takeAll(limited)).toBe(0);
  });

  it('that does not respond is not waited for', async () => {
    const shared: QuotaCounter = { count: silence, wait: silence, correct: away };
    const { clock, quotas } = quotasOf(shared);
    expect(await clock.run(quotas.exhaustedUntil(limited, 'key'))).toBeNull();
    expect(clock.monotonic()).toBe(250);
    await clock.advance(5_000);
    expect(await clock.run(quotas.take(limited, 'key', prompt(1)))).toHaveProperty('grant');
    expect(clock.monotonic()).toBe(5_500);
    expect(await quotas.take(limited, 'key', prompt(1))).toHaveProperty('grant');
  });

  it('that fails to accept a correction causes no error', async () => {
    const clock = new VirtualClock();
    const memory = new MemoryQuotaCounter(clock);
    const shared: QuotaCounter = {
      count: (...given) => memory.count(...given),
      wait: away,
      correct: away,
    };
    const taken = await quotasOf(shared, clock).quotas.take(limited, 'key', prompt(1));
    if ('grant' in taken) taken.grant.refund();
    await clock.advance(0);
  });
});
