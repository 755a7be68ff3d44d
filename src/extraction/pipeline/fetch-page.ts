// One page: the turn to ask for it, the asking, and the news of how it went. The source itself asks the limiter for leave.
import type { Clock, Emitter } from '../../core/index.ts';
import { FetchFailure } from '../errors.ts';
import type { ExtractionEvents } from '../events.ts';
import type { FetchedPage, PageRequest, Source } from '../ports.ts';
import type { Pacer } from './pacer.ts';

export interface FetchParts {
  readonly sessionId: string;
  readonly source: Source;
  readonly pacer: Pacer;
  readonly clock: Clock;
  readonly events: Emitter<ExtractionEvents>;
}

/** Fails with a FetchFailure, with the limiter's error, or with the signal's reason while it waits for its turn. */
export async function fetchPage(
  request: PageRequest,
  { sessionId, source, pacer, clock, events }: FetchParts,
  signal: AbortSignal,
): Promise<FetchedPage> {
  await pacer.turn(signal);
  // Waiting for leave is no part of a call.
  let sentAt = clock.monotonic();
  const tell = (outcome: string) => {
    const durationMs = clock.monotonic() - sentAt;
    events.emit('extraction:call', { session: sessionId, type: request.type, outcome, durationMs });
  };
  try {
    const page = await source.fetch(request, signal, () => (sentAt = clock.monotonic()));
    tell('answered');
    return page;
  } catch (error) {
    tell(error instanceof FetchFailure ? error.failure.kind : 'broken');
    throw error;
  }
}
