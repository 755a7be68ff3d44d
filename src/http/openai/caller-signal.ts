// An abort signal for work on behalf of an HTTP caller.
import type { ServerResponse } from 'node:http';
import { CoreError } from '../../core/index.ts';
import type { Traffic } from '../traffic.ts';

/**
 * Aborts with CANCELED when the caller disconnects before its response is sent (at once if it already has), and, with
 * `traffic`, with SHUTTING_DOWN when a stopping server waits no longer; that caller still gets a response.
 */
export function callerSignal(raw: ServerResponse, traffic?: Pick<Traffic, 'onCutOff'>): AbortSignal {
  const controller = new AbortController();
  const unsubscribe = traffic?.onCutOff((reason) => controller.abort(reason));
  const onClose = () => {
    unsubscribe?.();
    if (!raw.writableFinished)
      controller.abort(new CoreError('CANCELED', 'The caller disconnected before the response was sent.'));
  };
  if (raw.destroyed) onClose();
  else raw.once('close', onClose);
  return controller.signal;
}
