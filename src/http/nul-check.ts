// Keeps U+0000 out, at one place for all routes: Postgres takes no text that holds it.
import type { FastifyInstance } from 'fastify';
import { invalidFields } from './error-answer.ts';
import { hasNoNul, nulMessage } from '../api/fields.ts';

/** Refuses it with INPUT_INVALID wherever a route does not say that it may be there (config.nulAllowedIn). */
export function installNulCheck(server: FastifyInstance): void {
  server.addHook('preValidation', (request, _reply, done) => {
    if (request.is404) return done();
    const { nulAllowedIn = [] } = request.routeOptions.config;
    const fields = [
      firstWithNul('path', request.params),
      firstWithNul('query', request.query),
      nulAllowedIn === 'everywhere' ? null : firstWithNul('body', request.body, nulAllowedIn),
    ].filter((field) => field !== null);
    if (fields.length === 0) return done();
    return done(
      invalidFields(fields.map((field) => ({ field: field.slice(0, longestField), message: nulMessage }))),
    );
  });
}

/** Whoever sends it names the fields, and may nest them as well. */
const longestField = 200;

/** Not by recursion: what strangers send may be nested deeper than any stack. */
function firstWithNul(place: string, sent: unknown, leftOut: readonly string[] = []): string | null {
  const waiting: [path: string, value: unknown][] = [[place, sent]];
  for (const [path, value] of waiting) {
    if (typeof value === 'string' && !hasNoNul(value)) return path;
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, each] of Object.entries(value)) {
      if (value === sent && leftOut.includes(name)) continue;
      if (!hasNoNul(name)) return path;
      waiting.push([`${path}.${name}`, each]);
    }
  }
  return null;
}
