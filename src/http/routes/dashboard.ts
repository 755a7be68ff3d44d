// The dashboard: login handlers, its page and its files.
import { promisify } from 'node:util';
import { gzip as gzipCallback } from 'node:zlib';
import { dashboardApi } from '../../api/overview.ts';
import { CoreError } from '../../core/index.ts';
import type { DashboardAsset } from '../../operations/index.ts';
import { setSessionCookie } from '../access.ts';
import type { ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement } from '../implement.ts';

const gzip = promisify(gzipCallback);

export function dashboardRoutes(server: TypedServer, dependencies: ServerDeps): void {
  const { dashboard, access } = dependencies;
  implement(server, dashboardApi, {
    createLoginLink: async () => {
      const { token, expiresAt } = await dashboard.logins.create();
      // Behind #: browsers do not send that to servers, so it appears in no log.
      return { path: `/dashboard/login#${token}`, expiresAt };
    },
    logIn: async ({ body: { token }, request, reply }) => {
      if (!access.isAdminToken(token) && !(await dashboard.logins.use(token)))
        throw new CoreError(
          'UNAUTHENTICATED',
          'Login failed: this is neither the token of a valid login link (each works once, for ten ' +
            'minutes) nor the admin token. Get a new link with "headworks dashboard", or use the admin token.',
        );
      const session = access.sessions.issue();
      setSessionCookie(request, reply, session);
      return { expiresAt: session.expiresAt };
    },
    logOut: async ({ request, reply }) => {
      setSessionCookie(request, reply, null);
      return { expiresAt: null };
    },
  });
  fileRoutes(server, dependencies);
}

/** Forever: the name changes with the content. */
const unchanging = 'public, max-age=31536000, immutable';

function fileRoutes(server: TypedServer, { dashboard, ids }: ServerDeps): void {
  const config = { access: 'public' } as const;
  const schema = { hide: true } as const;
  const { files } = dashboard;
  const packed = new Map<string, Promise<Buffer>>();

  server.get('/', { config, schema }, async (_request, reply) => reply.redirect('/dashboard/'));
  server.get('/dashboard', { config, schema }, async (_request, reply) => reply.redirect('/dashboard/'));
  server.get('/dashboard/*', { config, schema }, async (request, reply) => {
    const path = (request.params as { '*': string })['*'];
    const asset = files?.assets.get(path);
    if (asset) {
      reply.header('cache-control', unchanging).header('content-security-policy', policyOfFiles);
      reply.type(asset.type);
      if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(await asset.read());
      reply.headers({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
      return reply.send(await gzipped(packed, path, asset));
    }
    if (path.startsWith('assets/')) throw new CoreError('NOT_FOUND', 'The dashboard has no such file.');
    const nonce = ids.token(16);
    reply.header('content-security-policy', policy(nonce)).type('text/html; charset=utf-8');
    return reply.send((files?.page ?? notBuilt).replaceAll('%NONCE%', nonce));
  });
}

/** Compressed on the first request and kept: a third of the files' size, and only what a browser has loaded. */
async function gzipped(
  packed: Map<string, Promise<Buffer>>,
  path: string,
  asset: DashboardAsset,
): Promise<Buffer> {
  const known = packed.get(path) ?? asset.read().then((body) => gzip(body));
  packed.set(path, known);
  known.catch(() => packed.delete(path));
  return known;
}

/** Nothing of other origins, no inline scripts; the nonce is for the styles that the page creates. */
const policy = (nonce: string): string =>
  `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; font-src 'self'; ` +
  "connect-src 'self'; worker-src 'self' blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

/** A worker has the policy of its own file: it may call this server, as the page may. */
const policyOfFiles = "default-src 'none'; connect-src 'self'; frame-ancestors 'none'";

const notBuilt = `<!doctype html><html lang="en"><title>Headworks</title>
<h1>The dashboard is not built</h1>
<p>This server runs from a checkout whose dashboard was never built. Run <code>npm run build:web</code> there and start
the server again. The API works without it: <a href="/docs">its documentation</a>.</p></html>`;
