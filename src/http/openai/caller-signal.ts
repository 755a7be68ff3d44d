// Notices that a caller has gone, or that the server goes, so that nobody works for an answer that nobody reads.
import type { ServerResponse } from 'node:http';
import { CoreError } from '../../core/index.ts';
import type { Traffic } from '../traffic.ts';

/**
 * Aborts with CANCELED once the caller leaves before its answer is sent; at once for one that has left already. With
 * `traffic` also with SHUTTING_DOWN, when a server that stops waits no longer: the caller is still there and can be told.
 */
export function callerSignal(raw: ServerResponse, traffic?: Pick<Traffic, 'onCutOff'>): AbortSignal {
  const leaving = new AbortController();
  const forget = traffic?.onCutOff((reason) => leaving.abort(reason));
  const left = () => {
    forget?.();
    if (!raw.writableFinished)
      leaving.abort(new CoreError('CANCELED', 'The caller went away before the answer.'));
  };
  if (raw.destroyed) left();
  else raw.once('close', left);
  return leaving.signal;
}
