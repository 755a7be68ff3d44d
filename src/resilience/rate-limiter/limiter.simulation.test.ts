// Long runs on virtual time against a server that allows half of the limiter's limit.
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../core/ids.ts';
import { createRateLimiter } from '../../../test/support/resilience/memory-rate-limiter.ts';

interface Answer {
  readonly at: number;
  readonly status: 200 | 429;
  readonly retryAfterMs: number | undefined;
}

/** Enforces a sliding minute exactly; calls that get 429 do not count. */
function slidingServer(clock: VirtualClock, perMinute: number, tellsRetryAfter: boolean) {
  const accepted: number[] = [];
  const answers: Answer[] = [];
  return {
    answers,
    call(): Answer {
      const at = clock.monotonic();
      const oldest = accepted.at(-perMinute);
      const isRefused = oldest !== undefined && at - oldest < 60_000;
      if (!isRefused) accepted.push(at);
      const retryAfterMs =
        isRefused && tellsRetryAfter ? Math.ceil((oldest + 60_000 - at) / 1_000) * 1_000 : undefined;
      const answer = { at, status: isRefused ? 429 : 200, retryAfterMs } as const;
      answers.push(answer);
      return answer;
    },
  };
}

const minutes = 30;

describe.each([{ tellsRetryAfter: false }, { tellsRetryAfter: true }])(
  'a limiter configured for 100 a minute on a server that allows 50 (Retry-After: $tellsRetryAfter)',
  ({ tellsRetryAfter }) => {
    it('gets 429 for fewer than 2% of calls after the first minute, and uses over 80% of what is allowed', async () => {
      const clock = new VirtualClock();
      const random = seededRandom(7);
      const limiter = createRateLimiter({ limits: { perMinute: 100, perSecond: 10 }, clock });
      const server = slidingServer(clock, 50, tellsRetryAfter);
      let isOver = false;
      const caller = async () => {
        while (!isOver) {
          const permit = await limiter.acquire();
          await clock.sleep(2 + random.next() * 6);
          const answer = server.call();
          await clock.sleep(50 + random.next() * 300);
          if (answer.status === 200) permit.succeeded();
          else permit.rateLimited({ retryAfterMs: answer.retryAfterMs });
        }
      };
      for (let index = 0; index < 8; index++) void caller();
      await clock.advance(minutes * 60_000);
      isOver = true;

      const later = server.answers.filter(({ at }) => at > 60_000);
      const rateLimited = later.filter(({ status }) => status === 429).length;
      const used = (later.length - rateLimited) / (50 * (minutes - 1));
      expect(rateLimited / later.length).toBeLessThan(0.02);
      expect(used).toBeGreaterThan(0.8);
    });
  },
);
