// One call: leave from the shared limiter, the call itself, and the news of how it went.
import type { Clock, Emitter } from '../../core/index.ts';
import type { AdaptiveRateLimiter, Permit } from '../../resilience/index.ts';
import { FetchFailure } from '../errors.ts';
import type { ExtractionEvents } from '../events.ts';
import type { FetchedPage, PageRequest, Source } from '../ports.ts';
import type { Pacer } from './pacer.ts';

export interface FetchParts {
  readonly sessionId: string;
  readonly source: Source;
  readonly limiter: AdaptiveRateLimiter;
  readonly pacer: Pacer;
  readonly clock: Clock;
  readonly events: Emitter<ExtractionEvents>;
}

/** Fails with a FetchFailure, with the limiter's error, or with the signal's reason while it waits for leave. */
export async function fetchPage(
  request: PageRequest,
  { sessionId, source, limiter, pacer, clock, events }: FetchParts,
  signal: AbortSignal,
): Promise<FetchedPage> {
  await pacer.turn(signal);
  const permit = await limiter.acquire(signal);
  const startedAt = clock.monotonic();
  const tell = (outcome: string) => {
    const durationMs = clock.monotonic() - startedAt;
    events.emit('extraction:call', { session: sessionId, type: request.type, outcome, durationMs });
  };
  try {
    const page = await source.fetch(request, signal);
    permit.succeeded();
    tell('answered');
    return page;
  } catch (error) {
    report(permit, error);
    tell(error instanceof FetchFailure ? error.failure.kind : 'broken');
    throw error;
  }
}

function report(permit: Permit, error: unknown): void {
  const failure = error instanceof FetchFailure ? error.failure : undefined;
  if (failure?.kind === 'rate-limit') permit.rateLimited({ retryAfterMs: failure.hint?.retryAfterMs });
  else permit.failed();
}
