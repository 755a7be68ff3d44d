// Calls arrive within the rate limit, even if connecting takes long.
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { createRateLimiter } from '../../../test/support/resilience/memory-rate-limiter.ts';
import type { HttpClient } from './http-client.ts';
import { countIn, createHttpClient, nextLinkIn } from './http-client.ts';

const never = new AbortController().signal;
const origin = 'https://slow.test';

/** A server that records when calls arrive; the connection of the nth call takes `connectMs(n)`. */
function world(
  perSecond: number,
  connectMs: (call: number) => number,
  response: { status: number; headers: Record<string, string> } = { status: 200, headers: {} },
) {
  const clock = new VirtualClock();
  const arrivals: number[] = [];
  let calls = 0;
  const limiter = createRateLimiter({ limits: { perSecond }, clock });
  const call: HttpClient = createHttpClient({
    clock,
    origin,
    acquirePermit: (signal) => limiter.acquire(signal, { reportsSending: true }),
    transport: {
      close: () => Promise.resolve(),
      request: async ({ onSent }) => {
        await clock.sleep(connectMs(calls++));
        onSent?.();
        arrivals.push(clock.monotonic());
        return {
          ...response,
          body: (async function* () {})(),
          bytes: () => Promise.resolve(new Uint8Array()),
          discard: () => Promise.resolve(),
        };
      },
    },
  });
  return { clock, arrivals, call, limiter };
}

const maxPerSecond = (arrivals: readonly number[]): number =>
  Math.max(...arrivals.map((end) => arrivals.filter((at) => at > end - 1_000 && at <= end).length));

describe('calls with a permit of the limiter', () => {
  it.for([
    ['the first connections are slow', (call: number) => (call < 10 ? 700 : 0)],
    ['some are slower than a second', (call: number) => (call % 7 === 3 ? 1_600 : 2)],
  ] as const)('arrive within the limit although %s', async ([, connectMs]) => {
    const { clock, arrivals, call } = world(10, connectMs);
    const url = new URL(`${origin}/things`);
    const all = Promise.all(Array.from({ length: 60 }, () => call({ url, headers: {} }, never)));
    await clock.run(all);
    expect(arrivals).toHaveLength(60);
    expect(maxPerSecond(arrivals)).toBeLessThanOrEqual(10);
    expect(clock.monotonic()).toBeLessThan(12_000);
  });

  it('need none to another server', async () => {
    const { clock, call, limiter } = world(1, () => 0);
    const get = (url: string) => call({ url: new URL(url), headers: {} }, never);
    await clock.run(
      Promise.all([get(`${origin}/a`), get('https://tokens.test/b'), get('https://tokens.test/c')]),
    );
    expect(clock.monotonic()).toBe(0);
    expect(limiter.waiting).toBe(0);
  });

  it('report a 429 to the limiter before the caller can retry', async () => {
    const { clock, call, limiter } = world(1, () => 0, { status: 429, headers: { 'retry-after': '7' } });
    const url = new URL(`${origin}/a`);
    const pausedUntil = await clock.run(
      call({ url, headers: {} }, never).then(() => limiter.snapshot().paused_until),
    );
    expect(pausedUntil).toBe(new Date(clock.now() + 7_000).toISOString());
  });

  it('fail as stopped when they are aborted while waiting', async () => {
    const { clock, call } = world(1, () => 0);
    const stop = new AbortController();
    const url = new URL(`${origin}/a`);
    await clock.run(call({ url, headers: {} }, never));
    const waiting = call({ url, headers: {} }, stop.signal);
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toMatchObject({ failure: { kind: 'canceled' } });
  });
});

const base = new URL('https://api.test/v1/things?page=1');

const links: readonly (readonly [header: string | undefined, next: string | null])[] = [
  [undefined, null],
  ['', null],
  ['<https://api.test/v1/things?page=2>; rel="next"', 'https://api.test/v1/things?page=2'],
  ['<?page=2>; rel=next', 'https://api.test/v1/things?page=2'],
  ['</a>; rel="last", </b>; rel="prev NEXT"', 'https://api.test/b'],
  ['</a?x=1,2;3>; title="a, b; rel=next"; rel="prev"', null],
  ['</a>; rel="nextish"', null],
  ['<http://[>; rel="next"', null],
  ['rel="next"', null],
];

describe('the headers of a page', () => {
  it.for(links)('the link %s resolves to %s', ([header, next]) => {
    expect(nextLinkIn(header, base)).toBe(next);
  });

  it.for([
    ['25', 25],
    [' 0 ', 0],
    [undefined, null],
    ['', null],
    ['-1', null],
    ['1e3', null],
    ['25, 25', null],
    ['99999999999999999999', null],
  ] as const)('the count %s is %s', ([header, count]) => {
    expect(countIn(header)).toBe(count);
  });
});
