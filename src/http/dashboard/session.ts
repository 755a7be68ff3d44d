// Sessions of the dashboard: a signed cookie, accepted only from our own pages.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock, IdSource } from '../../core/index.ts';

/** A working day. */
const sessionMs = 12 * 3_600_000;

export interface Sessions {
  /** A fresh session: what its cookie holds, and when it ends. */
  issue(): { readonly value: string; readonly expiresAt: Date };
  /** From memory, at once; false for whatever we did not sign, and for what has ended. */
  isValid(value: string): boolean;
}

/**
 * Signed with a key that is derived from the admin token: another admin token ends every session. Nothing is stored, so
 * one session alone cannot be taken back; it ends by itself.
 */
export function createSessions(adminToken: string, clock: Clock, ids: IdSource): Sessions {
  const key = Buffer.from(hkdfSync('sha256', adminToken, '', 'headworks dashboard session', 32));
  const signature = (text: string) => createHmac('sha256', key).update(text).digest();
  return {
    issue() {
      const expiresAt = new Date(clock.now() + sessionMs);
      const text = `${expiresAt.getTime().toString(36)}.${ids.token(12)}`;
      return { value: `${text}.${signature(text).toString('base64url')}`, expiresAt };
    },
    isValid(value) {
      const parts = /^([0-9a-z]{1,12})\.[\w-]{16}\.([\w-]{43})$/.exec(value);
      if (parts === null) return false;
      const [, expires = '', signed = ''] = parts;
      const given = Buffer.from(signed, 'base64url');
      const expected = signature(value.slice(0, -signed.length - 1));
      return (
        given.length === expected.length &&
        timingSafeEqual(given, expected) &&
        Number.parseInt(expires, 36) > clock.now()
      );
    },
  };
}

/** By port, as the browser sees it: cookies are shared by all servers of a host, as a demo beside the real one. */
const nameFor = ({ headers }: FastifyRequest): string =>
  `headworks_session_${/:(\d{1,5})$/.exec(headers.host ?? '')?.[1] ?? 'default'}`;

/** Only scripts of our own pages can send it: other pages would have to ask first, and nobody tells them yes. */
export const dashboardHeader = 'x-headworks-dashboard';

/** What our cookie holds, or null. */
export function sessionIn(request: FastifyRequest): string | null {
  const header = request.headers.cookie;
  if (header === undefined || header.length > 8_192) return null;
  const name = nameFor(request);
  for (const part of header.split(';')) {
    const [key, value] = part.trim().split('=', 2);
    if (key === name && value !== undefined) return value;
  }
  return null;
}

/** Browsers send cookies along with what other pages make them ask for; then this is false. */
export function comesFromOurPage(request: FastifyRequest): boolean {
  const site = request.headers['sec-fetch-site'];
  const isAnothersPage = site !== undefined && site !== 'same-origin' && site !== 'none';
  const changesSomething = request.method !== 'GET' && request.method !== 'HEAD';
  return !isAnothersPage && (!changesSomething || request.headers[dashboardHeader] !== undefined);
}

export function keepSession(
  request: FastifyRequest,
  reply: FastifyReply,
  value: string,
  expiresAt: Date,
): void {
  setCookie(request, reply, `${nameFor(request)}=${value}; Expires=${expiresAt.toUTCString()}`);
}

export function dropSession(request: FastifyRequest, reply: FastifyReply): void {
  setCookie(request, reply, `${nameFor(request)}=; Max-Age=0`);
}

/** Behind a proxy that ends TLS the page's own address says so. */
function setCookie(request: FastifyRequest, reply: FastifyReply, cookie: string): void {
  const isSecure = request.protocol === 'https' || request.headers.origin?.startsWith('https:') === true;
  reply.header('set-cookie', `${cookie}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`);
}
