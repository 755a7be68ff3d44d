// Notices that a caller has gone, so that nobody works for an answer that nobody reads.
import type { ServerResponse } from 'node:http';
import { CoreError } from '../../core/index.ts';

/** Aborts with CANCELLED once the caller leaves before its answer is sent; at once for one that has left already. */
export function callerSignal(raw: ServerResponse): AbortSignal {
  const leaving = new AbortController();
  const left = () => {
    if (!raw.writableFinished)
      leaving.abort(new CoreError('CANCELLED', 'The caller went away before the answer.'));
  };
  if (raw.destroyed) left();
  else raw.once('close', left);
  return leaving.signal;
}
