// Access: every route declares who may call it; credentials are checked before the body is read.
import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Emitter } from '../core/index.ts';
import { CoreError, kindOf } from '../core/index.ts';
import type { Sessions } from './dashboard/session.ts';
import { comesFromOurPage, sessionIn } from './dashboard/session.ts';
import type { Access } from './deps.ts';
import type { HttpEvents } from './events.ts';
import type { Caller, RouteAccess } from './server-types.ts';

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
export function installAccess(
  server: FastifyInstance,
  access: Access,
  sessions: Pick<Sessions, 'isValid'>,
  events: Emitter<HttpEvents>,
): void {
  server.decorateRequest('caller', null);
  server.addHook('onRoute', ({ method, url, config }) => {
    if (!config?.access)
      throw new TypeError(`The route ${String(method)} ${url} does not say who may call it (config.access).`);
  });
  server.addHook('onRequest', (request, reply, done) => {
    const needed = request.routeOptions.config.access;
    if (needed === undefined || needed === 'public') return done();
    const caller = callerOrError(request, needed, access, sessions);
    if (caller instanceof Error) return done(refused(request, reply, caller, events));
    request.caller = caller;
    return done();
  });
}

/** The error as a value: errors thrown by `done` must not be caught here. */
function callerOrError(...question: Parameters<typeof callerOf>): Caller | Error {
  try {
    return callerOf(...question);
  } catch (error) {
    return error as Error;
  }
}

function refused(
  request: FastifyRequest,
  reply: FastifyReply,
  error: Error,
  events: Emitter<HttpEvents>,
): Error {
  const code = kindOf(error);
  if (code === 'UNAUTHENTICATED') reply.header('www-authenticate', 'Bearer realm="headworks"');
  if (code === 'UNAUTHENTICATED' || code === 'FORBIDDEN')
    events.emit('http:access-refused', {
      requestId: request.id,
      route: request.routeOptions.url ?? '',
      code,
    });
  return error;
}

/** Synchronous, from memory. */
function callerOf(
  request: FastifyRequest,
  needed: Exclude<RouteAccess, 'public'>,
  access: Access,
  sessions: Pick<Sessions, 'isValid'>,
): Caller {
  if (request.headers.authorization === undefined && hasSession(request, sessions))
    return admitted({ kind: 'admin' }, needed);
  const credential = credentialOf(request, needed);
  const known = knownCaller(credential, access);
  if (!known) refuseFormerKey(credential, needed, access);
  return admitted(known, needed);
}

/** Only the holder of the complete key learns that it existed. */
function refuseFormerKey(credential: string, needed: Exclude<RouteAccess, 'public'>, access: Access): void {
  const ofGateway = access.gatewayKeyRefusal(credential);
  const why = ofGateway ?? access.organizationKeyRefusal(credential);
  if (why === null) return;
  const what = why === 'expired' ? 'has expired' : 'was revoked';
  const which = ofGateway === null ? "organization's key" : 'gateway key';
  throw new CoreError('UNAUTHENTICATED', `This ${which} ${what}. ${howTo[needed]}`);
}

function admitted(caller: Caller | null, needed: Exclude<RouteAccess, 'public'>): Caller {
  if (!caller) throw unauthenticated('These credentials are unknown.', needed);
  if (!reaches(caller, needed))
    throw new CoreError('FORBIDDEN', `These credentials do not allow this. ${howTo[needed]}`);
  return caller;
}

function reaches({ kind }: Caller, needed: Exclude<RouteAccess, 'public'>): boolean {
  if (needed === 'tenant') return kind === 'admin' || kind === 'organization';
  return kind === needed || (needed === 'gateway' && kind === 'admin');
}

function knownCaller(credential: string, access: Access): Caller | null {
  const keyId = access.gatewayKeyOf(credential);
  if (keyId !== null) return { kind: 'gateway', keyId };
  const organizationId = access.organizationOf(credential);
  if (organizationId !== null) return { kind: 'organization', organizationId };
  return access.isAdminToken(credential) ? { kind: 'admin' } : null;
}

/** The dashboard's cookie counts as the admin token, but only for requests of our own page. */
function hasSession(request: FastifyRequest, sessions: Pick<Sessions, 'isValid'>): boolean {
  const session = sessionIn(request);
  return session !== null && comesFromOurPage(request) && sessions.isValid(session);
}

/** All other credentials: `Authorization: Bearer …`. */
function credentialOf(request: FastifyRequest, needed: Exclude<RouteAccess, 'public'>): string {
  const header = request.headers.authorization;
  if (header === undefined) {
    const isFromElsewhere = sessionIn(request) !== null && !comesFromOurPage(request);
    if (isFromElsewhere && needed !== 'organization')
      throw new CoreError(
        'FORBIDDEN',
        `A session is accepted from the dashboard’s own page only. ${howTo[needed]}`,
      );
    throw unauthenticated('Credentials are required.', needed);
  }
  const credential = /^bearer +([\u0021-\u007e]{1,512})$/i.exec(header)?.[1];
  if (credential === undefined) throw unauthenticated('The Authorization header is malformed.', needed);
  return credential;
}

/** Callers of the deployment API get one sentence, whatever is wrong. */
function unauthenticated(why: string, needed: Exclude<RouteAccess, 'public'>): CoreError {
  const words = needed === 'organization' ? 'A valid key is required.' : why;
  return new CoreError('UNAUTHENTICATED', `${words} ${howTo[needed]}`);
}

const howTo: Readonly<Record<Exclude<RouteAccess, 'public'>, string>> = {
  admin:
    'Send the admin token as bearer token in the Authorization header; ' +
    'it was printed at the first start, or set as HEADWORKS_ADMIN_TOKEN.',
  organization: 'Send a key of the organization as bearer token in the Authorization header.',
  tenant: 'Send a key of the organization, or the admin token, as bearer token in the Authorization header.',
  gateway:
    'Send a gateway key as bearer token in the Authorization header; "headworks keys create --name NAME" creates one.',
};
