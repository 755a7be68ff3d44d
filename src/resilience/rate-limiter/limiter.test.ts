import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { expect, it } from 'vitest';
import { AdaptiveRateLimiter } from './limiter.ts';
import type { WindowRequest, RateWindow, WindowReply } from './policy.ts';
import { initialBackoff } from './backoff.ts';

it('never returns grants a second time: whether the first return arrived is unknown', async () => {
  const demands: WindowRequest[] = [];
  const replies: ((reply: WindowReply | Error) => void)[] = [];
  const window: RateWindow = {
    limits: { perSecond: 4 },
    isLocal: false,
    sendLate: ({ stamp }) => stamp,
    exchange: (request) => {
      demands.push(request);
      return new Promise((resolve, reject) =>
        replies.push((reply) => (reply instanceof Error ? reject(reply) : resolve(reply))),
      );
    },
  };
  const clock = new VirtualClock();
  const limiter = new AdaptiveRateLimiter(window, clock);
  const state = { ...initialBackoff, pausedUntil: 0 };
  const controller = new AbortController();
  const gone = limiter.acquire(controller.signal);
  controller.abort(new Error('left'));
  await expect(gone).rejects.toThrow('left');
  replies[0]?.({ granted: 1, waitMs: 0, stamp: 'a', state });
  await clock.advance(0);
  expect(demands[1]).toMatchObject({ returned: 1, returnedStamp: 'a' });
  replies[1]?.(new Error('timed out, though it may have arrived'));
  await clock.advance(0);
  const permit = limiter.acquire();
  await clock.advance(0);
  expect(demands[2]).toMatchObject({ wanted: 1, returned: 0 });
  replies[2]?.({ granted: 1, waitMs: 0, stamp: 'b', state });
  await permit;
});
