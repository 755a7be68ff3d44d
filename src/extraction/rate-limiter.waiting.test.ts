import { describe, expect, it } from 'vitest';
import type { EmittedEvent } from '../core/index.ts';
import { EventBus } from '../core/index.ts';
import { VirtualClock } from '../../test/support/core/virtual-clock.ts';
import { extractionEvents } from './index.ts';
import { createRateLimiter } from '../../test/support/resilience/memory-rate-limiter.ts';
import { WaitReporter } from './rate-limiter.ts';

function world(limits = { perSecond: 5, perMinute: 5 }) {
  const clock = new VirtualClock();
  const events = new EventBus(extractionEvents);
  const emitted: EmittedEvent['payload'][] = [];
  events.listen(({ payload }) => emitted.push(payload));
  const limiter = createRateLimiter({ limits, clock });
  const waits = new WaitReporter(events, clock);
  const acquirePermit = () => waits.whileAcquiring(limiter, () => limiter.acquire());
  return { clock, emitted, limiter, waits, acquirePermit };
}

describe('WaitReporter', () => {
  it('reports the rate limit once when earlier calls have used it up', async () => {
    const { clock, emitted, acquirePermit } = world();
    await clock.run(Promise.all(Array.from({ length: 8 }, acquirePermit)));
    expect(emitted).toEqual([
      {
        reason: 'rate-limit',
        why: 'earlier calls have used up the rate limit (5 calls per minute, 5 per second)',
        waitMs: null,
      },
    ]);
  });

  it('reports a pause that the source requested', async () => {
    const { clock, emitted, acquirePermit, limiter } = world();
    (await limiter.acquire()).rateLimited({ retryAfterMs: 30_000 });
    await clock.run(acquirePermit());
    expect(emitted).toMatchObject([{ why: 'the source requested a pause until 2023-11-14T22:13:50.000Z' }]);
  });

  it('reports no short wait, and no second reason', async () => {
    const { clock, emitted, acquirePermit, waits } = world({ perSecond: 5, perMinute: 2 });
    await clock.run(Promise.all([acquirePermit(), acquirePermit()]));
    expect(emitted).toEqual([]);
    const waiting = acquirePermit();
    waits.report('limits-locked', 'another process has locked limits.sqlite');
    await clock.run(waiting);
    expect(emitted).toMatchObject([{ reason: 'limits-locked' }]);
  });

  it('reports nothing once there is progress', async () => {
    const { clock, emitted, acquirePermit, waits } = world({ perSecond: 1, perMinute: 1 });
    await acquirePermit();
    waits.end();
    await clock.run(acquirePermit());
    expect(emitted).toEqual([]);
  });
});
