// Access: every route declares who may call it; credentials are checked before the body is read.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { CallerAccess } from '../api/operation.ts';
import type { Clock, Emitter, IdSource, KeyCheck } from '../core/index.ts';
import { CoreError, kindOf } from '../core/index.ts';
import { gatewayKeyPrefix } from '../gateway/index.ts';
import { HttpError } from './errors.ts';
import type { HttpEvents } from './events.ts';

export type Caller =
  | { readonly kind: 'admin' }
  | { readonly kind: 'organization'; readonly organizationId: string }
  | { readonly kind: 'gateway'; readonly keyId: string };

/** Credential checks: synchronous, from memory. */
export interface Access {
  /** Takes the same time for every wrong token: see createTokenCheck. */
  readonly isAdminToken: (token: string) => boolean;
  readonly gatewayKeys: {
    readonly checkKey: (credential: string) => KeyCheck<{ readonly id: string }> | null;
  };
  readonly organizationKeys: {
    readonly check: (credential: string) => KeyCheck<{ readonly organizationId: string }> | null;
  };
  readonly sessions: Pick<DashboardSessions, 'isValid' | 'issue'>;
}

type Needed = Exclude<CallerAccess, 'public'>;

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: CallerAccess;
  }
  interface FastifyRequest {
    /** Set once the credentials were checked; null on public routes. */
    caller: Caller | null;
  }
}

/** In bytes; longer credentials are rejected unread. */
const maxCredentialBytes = 512;

/** A check that takes the same time for every wrong token. Hashing both would, too, but costs 3 µs a request. */
export function createTokenCheck(token: string): (candidate: string) => boolean {
  const expected = padded(token, Buffer.alloc(4 + maxCredentialBytes));
  const given = Buffer.alloc(4 + maxCredentialBytes);
  return (candidate) =>
    Buffer.byteLength(candidate) <= maxCredentialBytes && timingSafeEqual(padded(candidate, given), expected);
}

/** Always of the same size: the length, the text, zeros. */
function padded(text: string, into: Buffer): Buffer {
  into.writeUInt32LE(Buffer.byteLength(text));
  return into.fill(0, 4 + into.write(text, 4));
}

/** Fails for a route that does not declare its access, and checks every call of the others. */
export function installAccess(server: FastifyInstance, access: Access, events: Emitter<HttpEvents>): void {
  server.decorateRequest('caller', null);
  server.addHook('onRoute', ({ method, url, config }) => {
    if (!config?.access)
      throw new TypeError(
        `The route ${String(method)} ${url} does not declare who may call it (config.access).`,
      );
  });
  server.addHook('onRequest', (request, reply, done) => {
    const needed = request.routeOptions.config.access;
    if (needed === undefined || needed === 'public') return done();
    try {
      request.caller = callerOf(request, needed, access);
    } catch (error) {
      return done(reportRejection(request, reply, error as Error, events));
    }
    // Not in the block above: what `done` throws is not a rejection.
    return done();
  });
}

/** Deployments have limits of their own. MCP requests are counted apart: their tools make knowledge requests. */
const limitedPath = /^\/(?:api\/v1\/(knowledge)\/|mcp$)/;

/**
 * Limits the concurrent knowledge requests with the keys of one organization, so that it cannot delay others. Counted by
 * each server for itself, apart from the slots of deployments. A request counts until its connection is done with it.
 */
export function installOrganizationLimit(
  server: FastifyInstance,
  max: number,
  events: Emitter<HttpEvents>,
): void {
  const inFlight = new Map<string, number>();
  server.addHook('onRequest', (request, reply, done) => {
    const { caller } = request;
    const limited = limitedPath.exec(request.routeOptions.url ?? '');
    if (caller?.kind !== 'organization' || !limited) return done();
    const { organizationId } = caller;
    const counter = `${organizationId} ${limited[1] ?? 'mcp'}`;
    const count = inFlight.get(counter) ?? 0;
    if (count >= max) {
      events.emit('http:organization-limited', { requestId: request.id, organizationId });
      return done(organizationLimitReached(max));
    }
    inFlight.set(counter, count + 1);
    reply.raw.on('close', () => {
      const left = (inFlight.get(counter) ?? 1) - 1;
      if (left > 0) inFlight.set(counter, left);
      else inFlight.delete(counter);
    });
    return done();
  });
}

const organizationLimitReached = (max: number): HttpError =>
  new HttpError(
    'HTTP_ORGANIZATION_LIMIT',
    `The organization has ${max} knowledge requests in progress, as many as it may have. Try again in a moment.`,
    { isRetryable: true, retryAfterMs: 1_000 },
  );

function reportRejection(
  request: FastifyRequest,
  reply: FastifyReply,
  error: Error,
  events: Emitter<HttpEvents>,
): Error {
  const code = kindOf(error);
  if (code === 'UNAUTHENTICATED') reply.header('www-authenticate', 'Bearer realm="headworks"');
  if (code === 'UNAUTHENTICATED' || code === 'FORBIDDEN')
    events.emit('http:access-rejected', {
      requestId: request.id,
      route: request.routeOptions.url ?? '',
      code,
    });
  return error;
}

function callerOf(request: FastifyRequest, needed: Needed, access: Access): Caller {
  const caller = hasSession(request, access)
    ? ({ kind: 'admin' } as const)
    : callerWith(credentialOf(request, needed), needed, access);
  if (!canCall(caller, needed))
    throw new CoreError('FORBIDDEN', `These credentials do not allow this. ${remedies[needed]}`);
  return caller;
}

/** The dashboard's cookie counts as the admin token, but only for requests of our own page. */
function hasSession(request: FastifyRequest, { sessions }: Access): boolean {
  if (givenCredential(request.headers) !== undefined) return false;
  const session = sessionIn(request);
  return session !== null && comesFromOurPage(request) && sessions.isValid(session);
}

/** A credential is looked up among the keys of its own kind only. */
function callerWith(
  credential: string,
  needed: Needed,
  { isAdminToken, gatewayKeys, organizationKeys }: Access,
): Caller {
  if (isAdminToken(credential)) return { kind: 'admin' };
  if (credential.startsWith(gatewayKeyPrefix)) {
    const { id: keyId } = validKey(gatewayKeys.checkKey(credential), 'gateway key', needed);
    return { kind: 'gateway', keyId };
  }
  const { organizationId } = validKey(organizationKeys.check(credential), "organization's key", needed);
  return { kind: 'organization', organizationId };
}

function validKey<Key>(check: KeyCheck<Key> | null, name: string, needed: Needed): Key {
  if (check === null) throw unauthenticated('These credentials are unknown.', needed);
  if (check.kind === 'valid') return check.key;
  const what = check.kind === 'expired' ? 'has expired' : 'was revoked';
  throw new CoreError('UNAUTHENTICATED', `This ${name} ${what}. ${remedies[needed]}`);
}

function canCall({ kind }: Caller, needed: Needed): boolean {
  if (needed === 'tenant') return kind === 'admin' || kind === 'organization';
  return kind === needed || (needed === 'gateway' && kind === 'admin');
}

/**
 * For requests that are served before fastify, with a gateway key or the admin token; undefined: `installAccess` rejects
 * them, with the reason.
 */
export function completionCaller(credential: string, access: Access): Caller | undefined {
  try {
    const caller = callerWith(credential, 'gateway', access);
    return canCall(caller, 'gateway') ? caller : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined without credentials, and for malformed ones. */
export function credentialIn(headers: IncomingHttpHeaders): string | undefined {
  const header = givenCredential(headers);
  return header && /^bearer +([\u0021-\u007e]{1,512})$/i.exec(header)?.[1];
}

/** The header that is used, as a whole: clients of Anthropic and Azure send the key alone. */
function givenCredential(headers: IncomingHttpHeaders): string | undefined {
  const key = headers['x-api-key'] ?? headers['api-key'];
  return headers.authorization ?? (typeof key === 'string' ? `Bearer ${key}` : undefined);
}

/** `Authorization: Bearer …`, `x-api-key: …` or `api-key: …`. */
function credentialOf(request: FastifyRequest, needed: Needed): string {
  if (givenCredential(request.headers) === undefined) {
    const isFromOtherPage = sessionIn(request) !== null && !comesFromOurPage(request);
    if (isFromOtherPage && needed !== 'organization')
      throw new CoreError(
        'FORBIDDEN',
        `A session is accepted from the dashboard’s own page only. ${remedies[needed]}`,
      );
    throw unauthenticated('Credentials are required.', needed);
  }
  const credential = credentialIn(request.headers);
  if (credential === undefined)
    throw unauthenticated('The header with the credentials is malformed.', needed);
  return credential;
}

/** Callers of the deployment API get one sentence, whatever is wrong. */
function unauthenticated(why: string, needed: Needed): CoreError {
  const words = needed === 'organization' ? 'A valid key is required.' : why;
  return new CoreError('UNAUTHENTICATED', `${words} ${remedies[needed]}`);
}

const remedies: Readonly<Record<Needed, string>> = {
  admin:
    'Send the admin token as bearer token in the Authorization header; ' +
    'it was printed at the first start, or set as HEADWORKS_ADMIN_TOKEN.',
  organization: 'Send a key of the organization as bearer token in the Authorization header.',
  tenant: 'Send a key of the organization, or the admin token, as bearer token in the Authorization header.',
  gateway:
    'Send a gateway key as bearer token in the Authorization header, or as x-api-key; ' +
    '"headworks keys create NAME" creates one.',
};

/** A working day. */
const sessionMs = 12 * 3_600_000;

/**
 * Cookies of the dashboard, signed with a key that is derived from the admin token: another admin token ends every
 * session. Nothing is stored, so one session alone cannot be revoked; it expires.
 */
export class DashboardSessions {
  readonly #key: Buffer;
  readonly #clock: Clock;
  readonly #ids: IdSource;

  constructor(adminToken: string, clock: Clock, ids: IdSource) {
    this.#key = Buffer.from(hkdfSync('sha256', adminToken, '', 'headworks dashboard session', 32));
    this.#clock = clock;
    this.#ids = ids;
  }

  /** A new session: the value of its cookie, and when it ends. */
  issue(): { readonly value: string; readonly expiresAt: Date } {
    const expiresAt = new Date(this.#clock.now() + sessionMs);
    const text = `${expiresAt.getTime().toString(36)}.${this.#ids.token(12)}`;
    return { value: `${text}.${this.#signature(text).toString('base64url')}`, expiresAt };
  }

  /** False for anything that was not signed here, and for sessions that have ended. */
  isValid(value: string): boolean {
    const parts = /^([0-9a-z]{1,12})\.[\w-]{16}\.([\w-]{43})$/.exec(value);
    if (parts === null) return false;
    const [, expires = '', signed = ''] = parts;
    const given = Buffer.from(signed, 'base64url');
    const expected = this.#signature(value.slice(0, -signed.length - 1));
    return (
      given.length === expected.length &&
      timingSafeEqual(given, expected) &&
      Number.parseInt(expires, 36) > this.#clock.now()
    );
  }

  #signature(text: string): Buffer {
    return createHmac('sha256', this.#key).update(text).digest();
  }
}

/**
 * Contains the port, as the browser sees it: cookies are shared by all servers of a host, as a demo beside the real
 * one.
 */
const cookieName = ({ headers }: FastifyRequest): string =>
  `headworks_session_${/:(\d{1,5})$/.exec(headers.host ?? '')?.[1] ?? 'default'}`;

/** Only scripts of our own pages can send it: other pages need a preflight, which is rejected. */
const dashboardHeader = 'x-headworks-dashboard';

function sessionIn(request: FastifyRequest): string | null {
  const header = request.headers.cookie;
  if (header === undefined || header.length > 8_192) return null;
  const name = cookieName(request);
  for (const part of header.split(';')) {
    const [key, value] = part.trim().split('=', 2);
    if (key === name && value !== undefined) return value;
  }
  return null;
}

/** Browsers send cookies also with requests that other pages cause; then this is false. */
function comesFromOurPage(request: FastifyRequest): boolean {
  const site = request.headers['sec-fetch-site'];
  const isOtherPage = site !== undefined && site !== 'same-origin' && site !== 'none';
  const isChange = request.method !== 'GET' && request.method !== 'HEAD';
  return !isOtherPage && (!isChange || request.headers[dashboardHeader] !== undefined);
}

/** Null ends the session of this browser. */
export function setSessionCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  session: { readonly value: string; readonly expiresAt: Date } | null,
): void {
  // Behind a proxy that terminates TLS, the page's own origin shows the scheme.
  const isSecure = request.protocol === 'https' || request.headers.origin?.startsWith('https:') === true;
  const value = session ? `${session.value}; Expires=${session.expiresAt.toUTCString()}` : '; Max-Age=0';
  const flags = `Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
  reply.header('set-cookie', `${cookieName(request)}=${value}; ${flags}`);
}
