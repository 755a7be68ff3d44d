// Keeps web pages of strangers out: a name that was rebound to our address, and requests sent across origins.
import { isIP } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Emitter } from '../core/index.ts';
import { HttpError } from './errors.ts';
import type { HttpEvents } from './events.ts';

export interface OriginRules {
  readonly boundHost: string;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
}

/** What pages of configured origins may read of an answer besides its content. */
const readableHeaders =
  'x-request-id, retry-after, x-should-retry, ' +
  'x-headworks-model, x-headworks-provider, x-headworks-attempts, x-headworks-fallback';
const usualHeaders = 'authorization, content-type, last-event-id, x-request-id';

/**
 * Host: a loopback name, any IP address (a rebound name is never one), the address we listen on, or one configured.
 * Origin, when a browser sends one: our own or one configured, for every method. Configured origins get CORS answers.
 */
export function installOriginCheck(
  server: FastifyInstance,
  rules: OriginRules,
  events: Emitter<HttpEvents>,
): void {
  const hosts = new Set([rules.boundHost, ...rules.allowedHosts].map((host) => host.toLowerCase()));
  const origins = new Set(rules.allowedOrigins.map((origin) => origin.toLowerCase()));

  const isHostAllowed = remembered((host) => isAllowedHost(host, hosts));

  server.addHook('onRequest', (request, reply, done) => {
    const { host = '', origin } = request.headers;
    const refusal = isHostAllowed(host) ? originRefusal(origin, host, origins) : hostRefusal(host);
    if (refusal) {
      events.emit('http:access-refused', { requestId: request.id, route: '', code: refusal.code });
      return done(refusal);
    }
    if (origin === undefined || !origins.has(origin.toLowerCase())) return done();
    reply.headers({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': readableHeaders,
      vary: 'origin',
    });
    if (request.method !== 'OPTIONS') return done();
    // Answered here: nothing comes after.
    void reply
      .headers({
        'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
        // Clients of /v1 bring headers of their own (x-stainless-…): a page that may call may say what it likes.
        'access-control-allow-headers': request.headers['access-control-request-headers'] ?? usualHeaders,
        'access-control-max-age': '600',
      })
      .code(204)
      .send();
  });
}

/** A server is called by few names, and by the same ones all the time. */
function remembered(judge: (host: string) => boolean): (host: string) => boolean {
  const known = new Map<string, boolean>();
  return (host) => {
    const verdict = known.get(host) ?? judge(host);
    if (known.size < mostRemembered) known.set(host, verdict);
    return verdict;
  };
}

const mostRemembered = 64;

function isAllowedHost(header: string, allowed: ReadonlySet<string>): boolean {
  const host = header.toLowerCase();
  const bare = bareName(host);
  if (bare === 'localhost' || bare.endsWith('.localhost') || isIP(bare) !== 0) return true;
  return host !== '' && (allowed.has(host) || allowed.has(withoutPort(host)));
}

const withoutPort = (host: string): string => host.replace(/:\d{1,5}$/, '');
const bareName = (host: string): string => withoutPort(host).replace(/^\[(.*)\]$/, '$1');

function hostRefusal(header: string): HttpError {
  const name = bareName(header.toLowerCase()).slice(0, 100);
  return new HttpError(
    'HTTP_HOST_NOT_ALLOWED',
    `This server is not known as "${name}". If it should be, add the name to HEADWORKS_ALLOWED_HOSTS.`,
  );
}

function originRefusal(
  header: string | undefined,
  host: string,
  allowed: ReadonlySet<string>,
): HttpError | undefined {
  const origin = header?.toLowerCase();
  if (origin === undefined || allowed.has(origin)) return undefined;
  // Behind a proxy that ends TLS we cannot know the scheme; the host decides.
  if (origin === `http://${host.toLowerCase()}` || origin === `https://${host.toLowerCase()}`)
    return undefined;
  return new HttpError(
    'HTTP_ORIGIN_NOT_ALLOWED',
    `Web pages of ${origin.slice(0, 100)} may not call this server. ` +
      'If they should, add the origin to HEADWORKS_ALLOWED_ORIGINS.',
  );
}
