// Long runs on virtual time: servers that reject at random, or everything for some seconds, and servers whose true limit
// is below the configured one.
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { createRateLimiter } from '../../../test/support/resilience/memory-rate-limiter.ts';
import { seededRandom } from '../../core/ids.ts';

/** Whether a call that arrives at `at` is accepted. */
type Server = (at: number) => boolean;

const servers = {
  'a sliding minute': (perMinute: number): Server => {
    const accepted: number[] = [];
    return (at) => {
      const isAccepted = at - (accepted.at(-perMinute) ?? Number.NEGATIVE_INFINITY) >= 60_000;
      if (isAccepted) accepted.push(at);
      return isAccepted;
    };
  },
  'a fixed minute': (perMinute: number): Server => {
    let [minute, count] = [-1, 0];
    return (at) => {
      if (Math.floor(at / 60_000) !== minute) [minute, count] = [Math.floor(at / 60_000), 0];
      return ++count <= perMinute;
    };
  },
  'a token bucket': (perMinute: number): Server => {
    const capacity = perMinute / 10;
    let [tokens, last] = [capacity, 0];
    return (at) => {
      tokens = Math.min(capacity, tokens + ((at - last) * perMinute) / 60_000);
      last = at;
      if (tokens < 1) return false;
      tokens--;
      return true;
    };
  },
};

interface Run {
  readonly perMinute: number;
  readonly minutes: number;
  readonly server: Server;
  readonly seed?: number;
}

/** Eight callers that always want to call; the outcome of each call, in order. */
async function simulate({ perMinute, minutes, server, seed = 7 }: Run) {
  const clock = new VirtualClock();
  const random = seededRandom(seed);
  const limiter = createRateLimiter({ limits: { perMinute }, clock });
  const calls: { readonly at: number; readonly isAccepted: boolean }[] = [];
  const end = minutes * 60_000;
  const caller = async () => {
    while (clock.monotonic() < end) {
      const permit = await limiter.acquire();
      const at = clock.monotonic();
      const isAccepted = server(at);
      calls.push({ at, isAccepted });
      await clock.sleep(50 + random.next() * 300);
      if (isAccepted) permit.succeeded();
      else permit.rateLimited();
    }
  };
  for (let index = 0; index < 8; index++) void caller();
  await clock.advance(end);
  const between = (from: number, to: number) => {
    const later = calls.filter(({ at }) => at >= from * 60_000 && at < to * 60_000);
    const accepted = later.filter(({ isAccepted }) => isAccepted).length;
    return { accepted, rejectedShare: 1 - accepted / later.length };
  };
  return between;
}

describe('a server that rejects at random', () => {
  it.each([
    [100, 1, 0.85],
    [100, 2, 0.75],
    [100, 5, 0.55],
    [1_500, 1, 0.85],
    [1_500, 2, 0.75],
    [1_500, 5, 0.55],
  ])(
    'at %i a minute, %i percent of calls: at least %f of the rate is used',
    async (perMinute, percent, least) => {
      const minutes = perMinute === 100 ? 60 : 20;
      const used: number[] = [];
      for (const seed of [1, 2, 3]) {
        const random = seededRandom(seed);
        const server: Server = () => random.next() * 100 >= percent;
        const between = await simulate({ perMinute, minutes, server, seed });
        used.push(between(0, minutes).accepted / (perMinute * minutes));
      }
      expect(Math.min(...used)).toBeGreaterThan(least);
    },
  );
});

describe('a server that rejects everything for some seconds', () => {
  describe.each([100, 600, 1_500])('at %i a minute', (perMinute) => {
    it.each([
      [1, 60, 0.75],
      [5, 60, 0.6],
      [1, 10, 0.6],
      // Too long for an outage, at first.
      [20, 300, 0.9],
    ])('%i of %i s: at least %f of the rest of the rate is used', async (length, every, least) => {
      const minutes = perMinute === 100 ? 60 : 30;
      const used: number[] = [];
      // Where in the minute it begins matters: without backoff the calls of a minute are made at its beginning.
      for (const [seed, offset] of [0, 17, 42, 55].entries()) {
        const server: Server = (at) => (at / 1_000 + offset) % every >= length;
        const between = await simulate({ perMinute, minutes, server, seed });
        used.push(between(0, minutes).accepted / (perMinute * minutes * (1 - length / every)));
      }
      expect(Math.min(...used)).toBeGreaterThan(least);
    });
  });
});

describe.each(Object.entries(servers))('%s with half of the configured limit', (_name, create) => {
  it.each([100, 600, 1_500])(
    'at %i a minute: found, and kept with less than 1 percent rejected',
    async (perMinute) => {
      const between = await simulate({ perMinute, minutes: 50, server: create(perMinute / 2) });
      const { accepted, rejectedShare } = between(10, 50);
      expect(rejectedShare).toBeLessThan(0.01);
      expect(accepted).toBeGreaterThan(0.85 * (perMinute / 2) * 40);
    },
  );
});

it('returns to the full rate by probing once the server accepts it', async () => {
  const halfFor = 20 * 60_000;
  const half = servers['a sliding minute'](50);
  const between = await simulate({
    perMinute: 100,
    minutes: 90,
    server: (at) => at >= halfFor || half(at),
  });
  expect(between(80, 90).accepted).toBeGreaterThan(0.95 * 100 * 10);
});
