// The dashboard: its page and files, and who may use it.
import { promisify } from 'node:util';
import { gzip as gzipCallback } from 'node:zlib';
import { CoreError } from '../../core/index.ts';
import type { DashboardAsset, DashboardFiles } from '../../operations/index.ts';
import { dropSession, keepSession } from '../dashboard/session-cookie.ts';
import type { HttpDependencies } from '../ports.ts';
import { loginBody, loginLinkAnswer, sessionAnswer } from '../schemas/dashboard.ts';
import { errorAnswers } from '../schemas/error.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['dashboard'];
const gzip = promisify(gzipCallback);

export function dashboardRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  loginRoutes(server, dependencies);
  fileRoutes(server, dependencies);
}

function loginRoutes(server: TypedServer, { dashboard, access }: HttpDependencies): void {
  server.post(
    '/api/v1/dashboard/login-links',
    {
      config: { access: 'admin' },
      schema: {
        operationId: 'dashboard.create-login-link',
        tags,
        summary: 'Makes a link that logs a browser in, once',
        response: { 201: loginLinkAnswer, ...errorAnswers },
      },
    },
    async (_request, reply) => {
      const { token, expiresAt } = await dashboard.logins.create();
      // Behind #: no browser sends that to a server, so it stands in no log.
      const path = `/dashboard/login#${token}`;
      return reply.code(201).send({ path, expires_at: expiresAt.toISOString() });
    },
  );

  server.post(
    '/api/v1/dashboard/session',
    {
      config: { access: 'public' },
      schema: {
        operationId: 'dashboard.log-in',
        tags,
        summary: 'Logs a browser in: with the token of a login link, or the admin token',
        description:
          'The session is a cookie that scripts cannot read and other sites do not send; it lasts 12 hours.',
        body: loginBody,
        response: { 200: sessionAnswer, ...errorAnswers },
      },
    },
    async (request, reply) => {
      const { token } = request.body;
      if (!access.isAdminToken(token) && !(await dashboard.logins.use(token)))
        throw new CoreError(
          'UNAUTHENTICATED',
          'This login does not work: this is neither the token of a login link that still works (once, for ten ' +
            'minutes) nor the admin token. Get another link with "headworks dashboard", or look the token up.',
        );
      const { value, expiresAt } = dashboard.sessions.issue();
      keepSession(request, reply, value, expiresAt);
      return { expires_at: expiresAt.toISOString() };
    },
  );

  server.delete(
    '/api/v1/dashboard/session',
    {
      config: { access: 'public' },
      schema: {
        operationId: 'dashboard.log-out',
        tags,
        summary: 'Makes this browser forget its session',
        response: { 200: sessionAnswer, ...errorAnswers },
      },
    },
    async (request, reply) => {
      dropSession(request, reply);
      return { expires_at: null };
    },
  );
}

/** For ever: the name changes with the content. */
const unchanging = 'public, max-age=31536000, immutable';

function fileRoutes(server: TypedServer, { dashboard, ids }: HttpDependencies): void {
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
    return reply.send(pageOf(files).replaceAll('%NONCE%', nonce));
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

/** Nothing from elsewhere, no script that is not a file of ours; the nonce is for the styles that the page makes. */
const policy = (nonce: string): string =>
  `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; font-src 'self'; ` +
  "connect-src 'self'; worker-src 'self' blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

/** A worker obeys the policy of its own file: it may ask this server, as the page may. */
const policyOfFiles = "default-src 'none'; connect-src 'self'; frame-ancestors 'none'";

function pageOf(files: DashboardFiles | null): string {
  return files?.page ?? notBuilt;
}

const notBuilt = `<!doctype html><html lang="en"><title>Headworks</title>
<h1>The dashboard is not built</h1>
<p>This server runs from a checkout whose dashboard was never built. Run <code>npm run build:web</code> there and start
the server again. The API works without it: <a href="/docs">its documentation</a>.</p></html>`;
