// Who may call what. Every route must say so, and is checked before its body is read.
import { hash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { CoreError, kindOf } from '../core/index.ts';
import type { Emitter } from '../core/index.ts';
import type { HttpEvents } from './events.ts';
import type { Access } from './ports.ts';
import type { Caller, RouteAccess } from './server-types.ts';

const digest = (text: string): Buffer => hash('sha256', text, 'buffer');

/** A check that takes the same time for every wrong token, whatever its length. */
export function createTokenCheck(token: string): (candidate: string) => boolean {
  const expected = digest(token);
  return (candidate) => timingSafeEqual(digest(candidate), expected);
}

/** Refuses to build a route that does not say who may call it, and checks every call of the others. */
export function installAccess(server: FastifyInstance, access: Access, events: Emitter<HttpEvents>): void {
  server.decorateRequest('caller', null);
  server.addHook('onRoute', ({ method, url, config }) => {
    if (!config?.access)
      throw new TypeError(`The route ${String(method)} ${url} does not say who may call it (config.access).`);
  });
  server.addHook('onRequest', async (request, reply) => {
    const needed = request.routeOptions.config.access;
    if (needed === undefined || needed === 'public') return;
    try {
      request.caller = await callerOf(request, needed, access);
    } catch (error) {
      refuse(request, reply, error, events);
    }
  });
}

function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
  events: Emitter<HttpEvents>,
): never {
  const code = kindOf(error);
  if (code === 'UNAUTHENTICATED') reply.header('www-authenticate', 'Bearer realm="headworks"');
  if (code === 'UNAUTHENTICATED' || code === 'FORBIDDEN')
    events.emit('http:access-refused', {
      requestId: request.id,
      route: request.routeOptions.url ?? '',
      code,
    });
  throw error;
}

async function callerOf(
  request: FastifyRequest,
  needed: Exclude<RouteAccess, 'public'>,
  access: Access,
): Promise<Caller> {
  const credential = credentialOf(request, needed);
  const caller = await whoHas(credential, access);
  if (!caller)
    throw new CoreError('UNAUTHENTICATED', `Nobody here knows these credentials. ${howTo[needed]}`);
  if (caller.kind !== needed && !(needed === 'gateway' && caller.kind === 'admin'))
    throw new CoreError('FORBIDDEN', `These credentials are known but do not reach this. ${howTo[needed]}`);
  return caller;
}

async function whoHas(credential: string, access: Access): Promise<Caller | null> {
  const keyId = access.gatewayKeyOf(credential);
  if (keyId !== null) return { kind: 'gateway', keyId };
  if (access.isAdminToken(credential)) return { kind: 'admin' };
  const organization = await access.organizationOf?.(credential);
  return organization ? { kind: 'organization', organizationId: organization.organizationId } : null;
}

/** The one place that knows how credentials travel: `Authorization: Bearer …`. A dashboard's cookie would go here. */
function credentialOf(request: FastifyRequest, needed: Exclude<RouteAccess, 'public'>): string {
  const header = request.headers.authorization;
  if (header === undefined)
    throw new CoreError('UNAUTHENTICATED', `This needs credentials. ${howTo[needed]}`);
  const credential = /^bearer +([\u0021-\u007e]{1,512})$/i.exec(header)?.[1];
  if (credential === undefined)
    throw new CoreError('UNAUTHENTICATED', `The Authorization header cannot be understood. ${howTo[needed]}`);
  return credential;
}

const howTo: Readonly<Record<Exclude<RouteAccess, 'public'>, string>> = {
  admin:
    'Send the admin token as bearer token in the Authorization header; ' +
    'it was printed at the first start, or set as HEADWORKS_ADMIN_TOKEN.',
  organization: 'Send a key of the organization as bearer token in the Authorization header.',
  gateway:
    'Send a gateway key as bearer token in the Authorization header; "headworks keys create --name NAME" makes one.',
};
