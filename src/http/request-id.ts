// Every request has an id: the caller's, when it is harmless, else a fresh one.
import type { IncomingHttpHeaders } from 'node:http';
import type { IdSource } from '../core/index.ts';

/** Letters that cannot break a log line, a header or a URL; long enough for UUIDs and trace ids. */
const harmless = /^[\w.:-]{8,128}$/;

export function requestIdOf(headers: IncomingHttpHeaders, ids: IdSource): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && harmless.test(given) ? given : ids.uuid();
}
