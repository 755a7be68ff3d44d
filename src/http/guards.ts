// Checks of every request before its handler: Host and Origin, slow bodies, text that no store keeps, unknown paths; and security headers.
import { isIP } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { isStorable, storableMessage } from '../api/fields.ts';
import type { Clock, Emitter } from '../core/index.ts';
import { CoreError } from '../core/index.ts';
import { HttpError, invalidFields } from './errors.ts';
import type { HttpEvents } from './events.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The handler reads the body, with limits of its own. */
    readsBodyItself?: boolean;
    /** Fields of the body that may contain U+0000 and unpaired surrogates, which are removed or harmless there. */
    anyTextIn?: readonly string[] | 'everywhere';
  }
  interface FastifyInstance {
    knownRoutes: readonly KnownRoute[];
  }
}

interface KnownRoute {
  readonly method: string;
  /** With parameters as `:id` and a trailing `*` for the rest. */
  readonly url: string;
}

export interface OriginRules {
  readonly boundHost: string;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
}

/** Response headers that pages of configured origins may read. */
const readableHeaders =
  'x-request-id, retry-after, x-should-retry, ' +
  'x-headworks-model, x-headworks-provider, x-headworks-attempts, x-headworks-fallback';
const usualHeaders = 'authorization, content-type, x-request-id';

/**
 * Host: a loopback name, any IP address (DNS rebinding needs a name), the listen address, or a configured host.
 * Origin, when a browser sends one: the server's own or a configured one, for every method. Configured origins get CORS
 * headers.
 */
export function installOriginCheck(
  server: FastifyInstance,
  rules: OriginRules,
  events: Emitter<HttpEvents>,
): void {
  const isHostAllowed = createHostCheck(rules);
  const origins = new Set(rules.allowedOrigins.map((origin) => origin.toLowerCase()));

  server.addHook('onRequest', (request, reply, done) => {
    const { host = '', origin } = request.headers;
    const rejection = isHostAllowed(host) ? originRejection(origin, host, origins) : hostRejection(host);
    if (rejection) {
      events.emit('http:access-rejected', { requestId: request.id, route: '', code: rejection.code });
      return done(rejection);
    }
    if (origin === undefined || !origins.has(origin.toLowerCase())) return done();
    reply.headers({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': readableHeaders,
      vary: 'origin',
    });
    if (request.method !== 'OPTIONS') return done();
    // A preflight request ends here.
    void reply
      .headers({
        'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
        // Clients of /v1 send headers of their own (x-stainless-…), so any header is allowed.
        'access-control-allow-headers': request.headers['access-control-request-headers'] ?? usualHeaders,
        'access-control-max-age': '600',
      })
      .code(204)
      .send();
  });
}

/** Caches decisions: clients use few distinct host names. */
export function createHostCheck({
  boundHost,
  allowedHosts,
}: Pick<OriginRules, 'boundHost' | 'allowedHosts'>): (host: string) => boolean {
  const allowed = new Set([boundHost, ...allowedHosts].map((host) => host.toLowerCase()));
  const known = new Map<string, boolean>();
  return (host) => {
    const verdict = known.get(host) ?? isAllowedHost(host, allowed);
    if (known.size < maxMemoized) known.set(host, verdict);
    return verdict;
  };
}

const maxMemoized = 64;

function isAllowedHost(header: string, allowed: ReadonlySet<string>): boolean {
  const host = header.toLowerCase();
  const bare = bareName(host);
  if (bare === 'localhost' || bare.endsWith('.localhost') || isIP(bare) !== 0) return true;
  return host !== '' && (allowed.has(host) || allowed.has(withoutPort(host)));
}

const withoutPort = (host: string): string => host.replace(/:\d{1,5}$/, '');
const bareName = (host: string): string => withoutPort(host).replace(/^\[(.*)\]$/, '$1');

function hostRejection(header: string): HttpError {
  const name = bareName(header.toLowerCase()).slice(0, 100);
  return new HttpError(
    'HTTP_HOST_NOT_ALLOWED',
    `This server is not known as "${name}". If it should be, add the name to HEADWORKS_ALLOWED_HOSTS.`,
  );
}

function originRejection(
  header: string | undefined,
  host: string,
  allowed: ReadonlySet<string>,
): HttpError | undefined {
  const origin = header?.toLowerCase();
  if (origin === undefined || allowed.has(origin)) return undefined;
  // Behind a proxy that terminates TLS the scheme is unknown; the host decides.
  if (origin === `http://${host.toLowerCase()}` || origin === `https://${host.toLowerCase()}`)
    return undefined;
  return new HttpError(
    'HTTP_ORIGIN_NOT_ALLOWED',
    `Web pages of ${origin.slice(0, 100)} may not call this server. ` +
      'If they should, add the origin to HEADWORKS_ALLOWED_ORIGINS.',
  );
}

/**
 * Node has one time limit for the whole server, which must suit uploads; other routes have a shorter one here, with the
 * same response. `Expect: 100-continue` is confirmed before a body is read; routes that read the body themselves confirm
 * it themselves, so that a rejected upload is never sent.
 */
export function installSlowRequests(server: FastifyInstance, clock: Clock, requestTimeoutMs: number): void {
  const { server: node } = server;
  node.on('checkContinue', (request, response) => void node.emit('request', request, response));
  server.addHook('onRequest', (request, reply, done) => {
    const { raw } = request;
    if (hasBody(raw.headers) && !request.routeOptions.config.readsBodyItself) {
      if (raw.headers.expect !== undefined) reply.raw.writeContinue();
      const cancel = clock.after(requestTimeoutMs, () => {
        if (!raw.complete) node.emit('clientError', tooSlow(), raw.socket);
      });
      reply.raw.on('close', cancel);
    }
    done();
  });
}

const hasBody = (headers: Readonly<Record<string, unknown>>): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** The error that Node itself emits. */
export const tooSlow = (): Error =>
  Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });

/**
 * Rejects U+0000 and unpaired surrogates with INPUT_INVALID unless the route allows them (config.anyTextIn): Postgres
 * stores no such text.
 */
export function installTextCheck(server: FastifyInstance): void {
  server.addHook('preValidation', (request, _reply, done) => {
    if (request.is404) return done();
    const { anyTextIn = [] } = request.routeOptions.config;
    const fields = [
      firstUnstorable('path', request.params),
      firstUnstorable('query', request.query),
      anyTextIn === 'everywhere' ? null : firstUnstorable('body', request.body, anyTextIn),
    ].filter((field) => field !== null);
    if (fields.length === 0) return done();
    return done(invalidFields(fields.map((field) => ({ field, message: storableMessage }))));
  });
}

interface NestedValue {
  readonly name: string;
  readonly value: object;
  readonly parent: NestedValue | null;
}

/** Without recursion: input may be nested deeper than any stack. Paths are built only for what is found. */
function firstUnstorable(name: string, sent: unknown, leftOut: readonly string[] = []): string | null {
  if (typeof sent === 'string') return isStorable(sent) ? null : name;
  if (typeof sent !== 'object' || sent === null) return null;
  const waiting: NestedValue[] = [{ name, value: sent, parent: null }];
  for (const place of waiting)
    for (const [key, each] of Object.entries(place.value)) {
      if (place.value === sent && leftOut.includes(key)) continue;
      if (!isStorable(key)) return pathOf(place);
      if (typeof each === 'string' && !isStorable(each)) return `${pathOf(place)}.${key}`;
      if (typeof each === 'object' && each !== null)
        waiting.push({ name: key, value: each as object, parent: place });
    }
  return null;
}

function pathOf(place: NestedValue): string {
  const names: string[] = [];
  for (let at: NestedValue | null = place; at; at = at.parent) names.unshift(at.name);
  return names.join('.');
}

/** Lists the routes for 405 responses. Must be installed before the routes. */
export function installRouteTable(server: FastifyInstance): void {
  const routes: KnownRoute[] = [];
  server.decorate('knownRoutes', routes);
  server.addHook('onRoute', ({ url, method }) => {
    for (const name of [method].flat()) routes.push({ method: name, url });
  });
}

export function installNotFound(server: FastifyInstance): void {
  server.setNotFoundHandler(async (request, reply) => {
    const path = request.url.split('?', 1)[0] ?? '';
    const here = server.knownRoutes.filter(({ url }) => matches(url, path));
    // A missing file below /docs matches its route.
    if (here.length === 0 || here.some(({ method }) => method === request.method))
      throw new CoreError('NOT_FOUND', 'There is nothing at this path. GET /docs lists all routes.');
    const methods = [...new Set(here.map(({ method }) => method))].sort().join(', ');
    reply.header('allow', methods);
    throw new HttpError('HTTP_METHOD_NOT_ALLOWED', `This path supports only ${methods}.`);
  });
}

/** Segment by segment, so that no path can make it slow. */
function matches(url: string, path: string): boolean {
  const expected = url.split('/');
  const given = path.split('/');
  const isOpenEnded = expected.at(-1) === '*';
  if (isOpenEnded ? given.length < expected.length : given.length !== expected.length) return false;
  return expected.every(
    (part, index) => part === '*' || part === given[index] || (part.startsWith(':') && given[index] !== ''),
  );
}

/** Nothing may be loaded or framed; the docs page sets its own policy. */
const strictestPolicy = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

export function installSecurityHeaders(server: FastifyInstance): void {
  server.addHook('onSend', async (request, reply) => {
    reply.headers({
      'x-request-id': request.id,
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
    });
    if (!reply.hasHeader('content-security-policy')) reply.header('content-security-policy', strictestPolicy);
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
  });
}
