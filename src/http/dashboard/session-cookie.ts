// The cookie that holds a session of the dashboard, and what a request with it must bring besides.
import type { FastifyReply, FastifyRequest } from 'fastify';

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
