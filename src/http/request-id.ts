// Every request has an id: the caller's, when it is harmless, else a fresh one.
import type { IncomingHttpHeaders } from 'node:http';
import type { IdSource, Redactor } from '../core/index.ts';

/** Letters that cannot break a log line, a header or a URL; long enough for UUIDs and trace ids. */
const harmless = /^[\w.:-]{8,128}$/;

/** An id that holds a secret is not taken: it would come back in a header, and go to the log. */
export function requestIdOf(headers: IncomingHttpHeaders, ids: IdSource, redactor: Redactor): string {
  const given = headers['x-request-id'];
  const isHarmless = typeof given === 'string' && harmless.test(given) && redactor.text(given) === given;
  return isHarmless ? given : ids.uuid();
}
