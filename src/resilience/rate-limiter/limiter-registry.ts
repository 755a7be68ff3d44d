// One limiter per host and credential: servers count by both.
import { createHash } from 'node:crypto';
import type { AdaptiveRateLimiter } from './adaptive-rate-limiter.ts';

/** Names a limiter in stores and logs. The credential appears only as a short SHA-256; null means none is used. */
export function limiterKey(host: string, credential: string | null): string {
  const who =
    credential === null ? 'anonymous' : createHash('sha256').update(credential).digest('hex').slice(0, 16);
  return `${host.toLowerCase()}:${who}`;
}

export class RateLimiterRegistry {
  readonly #create: (key: string) => AdaptiveRateLimiter;
  readonly #limiters = new Map<string, AdaptiveRateLimiter>();

  constructor(create: (key: string) => AdaptiveRateLimiter) {
    this.#create = create;
  }

  /** The limiter of this host and credential, made at first use. */
  get(host: string, credential: string | null): AdaptiveRateLimiter {
    const key = limiterKey(host, credential);
    const existing = this.#limiters.get(key);
    if (existing) return existing;
    const limiter = this.#create(key);
    this.#limiters.set(key, limiter);
    return limiter;
  }

  /** Every limiter made so far, by key. */
  entries(): IterableIterator<[string, AdaptiveRateLimiter]> {
    return this.#limiters.entries();
  }
}
