// A test source that makes one call per fetch, with a limiter like the real ones.
import type { Source } from '../../src/extraction/index.ts';
import { FetchError } from '../../src/extraction/index.ts';
import type { AdaptiveRateLimiter } from '../../src/resilience/index.ts';

export function limitedSource(source: Source, limiter: AdaptiveRateLimiter): Source {
  return {
    ...source,
    async fetch(request, signal, onSent) {
      const permit = await limiter.acquire(signal);
      onSent?.();
      try {
        const page = await source.fetch(request, signal);
        permit.succeeded();
        return page;
      } catch (error) {
        const failure = error instanceof FetchError ? error.failure : undefined;
        if (failure?.kind === 'rate-limit') permit.rateLimited({ retryAfterMs: failure.hint?.retryAfterMs });
        throw error;
      } finally {
        permit.failed();
      }
    },
  };
}
