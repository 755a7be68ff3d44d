// A run that begins although there seemed to be something to go on with says why.
import type { Emitter } from '../../core/index.ts';
import type { ExtractionEvents } from '../events.ts';
import type { OpenSession, SessionSpec } from '../ports.ts';

/** Says nothing of a run that goes on, or that was asked to begin. */
export function tellWhyAnew(
  events: Emitter<ExtractionEvents>,
  vault: string,
  { fresh, retryFailed }: Pick<SessionSpec, 'fresh' | 'retryFailed'>,
  { isResumed, lost, redefined }: Pick<OpenSession, 'isResumed' | 'lost' | 'redefined'>,
): void {
  if (isResumed) return;
  if (lost.length > 0) events.emit('extraction:rows-lost', { vault, types: lost });
  else if (redefined.length > 0) events.emit('extraction:types-redefined', { vault, types: redefined });
  else if (retryFailed && fresh !== true)
    events.emit('extraction:setting-ignored', {
      setting: '--retry-failed',
      reason: 'there is no unfinished extraction of just these types: everything is read',
    });
}
