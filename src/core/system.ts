// The real clock, randomness and ids of this process. The only file in core that uses globals.
import { randomBytes, randomFillSync } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Clock } from './clock.ts';
import type { IdSource, Random } from './ids.ts';
import { uuidV7 } from './ids.ts';

/** Node's timers overflow past 2^31-1 ms and fire at once; longer waits are split. */
const maxTimerMs = 2_147_483_647;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    let left = ms;
    do {
      await sleepOnce(Math.min(Math.max(left, 0), maxTimerMs), signal);
      left -= maxTimerMs;
    } while (left > 0);
  },
  after(ms, run) {
    if (ms <= maxTimerMs) {
      const only = setTimeout(run, Math.max(ms, 0));
      only.unref();
      return () => clearTimeout(only);
    }
    let timer = arm(ms);
    function arm(left: number): NodeJS.Timeout {
      const step = Math.min(Math.max(left, 0), maxTimerMs);
      const next = setTimeout(() => (left > step ? (timer = arm(left - step)) : run()), step);
      next.unref();
      return next;
    }
    return () => clearTimeout(timer);
  },
};

/** Keeps the process running until the returned function is called: timers of `after` do not. */
export function keepProcessAlive(): () => void {
  const timer = setInterval(() => undefined, maxTimerMs);
  return () => clearInterval(timer);
}

function sleepOnce(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

export const systemRandom: Random = { next: () => Math.random() };

/** Ten bytes from the system take 15 µs, from a pool 0.3 µs. For ids only: secrets are not pooled. */
const pool = new Uint8Array(8_000);
const bytesOfId = 10;
let poolAt = pool.length;

/** The position of the next ten bytes. */
function nextInPool(): number {
  if (poolAt >= pool.length) {
    randomFillSync(pool);
    poolAt = 0;
  }
  const at = poolAt;
  poolAt += bytesOfId;
  return at;
}

export const systemIds: IdSource = {
  uuid: () => uuidV7(Date.now(), pool, nextInPool()),
  token: (bytes) => randomBytes(bytes).toString('base64url'),
};

/** Resolves in the next turn of the event loop, after other work that is ready. Long loops await it now and then. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
