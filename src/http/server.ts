// Composes the HTTP server. Building is not starting: nothing listens until the caller says so.
import type { IncomingHttpHeaders } from 'node:http';
import fastify from 'fastify';
import type { FastifyInstance, FastifySchemaCompiler } from 'fastify';
import { serializerCompiler } from 'fastify-type-provider-zod';
import type { $ZodType } from 'zod/v4/core';
import { safeParse } from 'zod/v4/core';
import type { IdSource, Redactor } from '../core/index.ts';
import { zodErrorMessage } from '../core/index.ts';
import { installAccess } from './access.ts';
import { installAudit, installChanges } from './audit.ts';
import type { ServerDeps } from './deps.ts';
import { createClientErrorHandler, createErrorHandler } from './error-handler.ts';
import {
  installNotFound,
  installNulCheck,
  installOriginCheck,
  installSecurityHeaders,
  installSlowRequests,
} from './guards.ts';
import { installTraffic, traceRequests } from './lifecycle.ts';
import type { HttpLimits } from './limits.ts';
import { defaultHttpLimits } from './limits.ts';
import { declareDocsPublic, installDocs, installOpenApi } from './openapi.ts';
import { registerRoutes } from './routes/index.ts';
import type { KnownRoute } from './server-types.ts';
import { OpenStreams } from './streams.ts';
import { isTenantPath, sendTenantError } from './tenant-api/error-response.ts';

/**
 * A server that is complete but does not listen. Fails while building when a route does not say who may call it.
 * Stop it with `drain`, not with `close`, which knows nothing of open streams.
 */
export async function buildServer(dependencies: ServerDeps): Promise<FastifyInstance> {
  const limits: HttpLimits = { ...defaultHttpLimits, ...dependencies.limits };
  const { clock, events, redactor } = dependencies;
  const handleError = createErrorHandler(redactor, dependencies.log);
  const server = fastify({
    logger: false,
    genReqId: (request) => requestIdOf(request.headers, dependencies.ids, redactor),
    bodyLimit: limits.bodyLimitBytes,
    requestTimeout: Math.max(
      limits.requestTimeoutMs,
      uploadMarginMs + dependencies.tenants.starter.uploads.timeoutMs,
    ),
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    forceCloseConnections: true,
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) =>
      isTenantPath(request.url)
        ? sendTenantError(error, request, reply, dependencies)
        : handleError(error, request, reply),
    clientErrorHandler: createClientErrorHandler(dependencies.ids),
    http: {
      headersTimeout: Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs),
      // How often the two limits above are checked; the default of 30 s would make them meaningless.
      connectionsCheckingInterval: 1_000,
    },
    // A name of a hundred characters, each of four bytes, percent-encoded.
    routerOptions: { maxParamLength: 1_200 },
  });
  server.setValidatorCompiler(validatorCompiler);
  server.setSerializerCompiler(serializerCompiler);
  server.setErrorHandler(handleError);
  acceptJsonOnly(server);

  // The order is the order in which a request passes them.
  if (dependencies.tracer) traceRequests(server, dependencies.tracer);
  installTraffic(server, clock, events);
  installSlowRequests(server, clock, limits.requestTimeoutMs);
  server.decorate('openStreams', new OpenStreams({ clock, events, limits }));
  installOriginCheck(server, dependencies, events);
  declareDocsPublic(server);
  installAccess(server, dependencies.access, dependencies.dashboard.sessions, events);
  installRouteTable(server);
  installRouteRules(server, limits.handlerTimeoutMs);
  installNulCheck(server);
  // Error responses are redacted more thoroughly where they are made; content must arrive unchanged. Before the audit.
  server.addHook('onSend', async (_request, _reply, payload) =>
    typeof payload === 'string' ? redactor.content(payload) : payload,
  );
  installAudit(server, { ...dependencies, auditTimeoutMs: limits.auditTimeoutMs });
  installChanges(server, events);
  installSecurityHeaders(server);
  installNotFound(server);
  await installOpenApi(server, dependencies.version);
  installDocs(server);
  registerRoutes(server, dependencies, limits);
  await server.ready();
  return server;
}

/** The deployment API ends uploads that take too long itself; Node's limit comes after. */
const uploadMarginMs = 10_000;

/** An empty body counts as none: many clients send a content type without one. */
function acceptJsonOnly(server: FastifyInstance): void {
  const parse = server.getDefaultJsonParser('error', 'error');
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined);
    else void parse(request, body as string, done);
  });
}

/** Documented routes need an operation id (it names audit rows), a summary and response schemas. */
export function installRouteRules(server: FastifyInstance, handlerTimeoutMs: number): void {
  const operations = new Map<string, string>();
  server.addHook('onRoute', (route) => {
    // A time limit would abort streams.
    if (!route.config?.isStream) route.handlerTimeout ??= handlerTimeoutMs;
    if (route.schema?.hide || route.url.startsWith('/docs') || route.method === 'HEAD') return;
    const label = `${String(route.method)} ${route.url}`;
    const { operationId, summary, response } = route.schema ?? {};
    if (!operationId || !summary || !response)
      throw new TypeError(`The route ${label} lacks an operationId, a summary or its responses (schema).`);
    const other = operations.get(operationId);
    if (other !== undefined && other !== label)
      throw new TypeError(`The routes ${other} and ${label} have the same operationId ${operationId}.`);
    operations.set(operationId, label);
  });
}

/** Must be installed after the access check and before the routes. */
export function installRouteTable(server: FastifyInstance): void {
  const routes: KnownRoute[] = [];
  server.decorate('knownRoutes', routes);
  server.addHook('onRoute', ({ url, method, config }) => {
    const access = config?.access ?? 'admin';
    for (const name of [method].flat()) routes.push({ method: name, url, access });
  });
}

/** For fastify's setValidatorCompiler. Messages of the schema itself come first. */
export const validatorCompiler: FastifySchemaCompiler<$ZodType> =
  ({ schema }) =>
  (data: unknown) => {
    const { data: value, error } = safeParse(schema, data, { error: zodErrorMessage });
    if (!error) return { value };
    return {
      // As fastify expects them; its types demand an Error.
      error: error.issues.map(({ code, path, message, ...params }) => ({
        keyword: code,
        instancePath: `/${path.join('/')}`,
        schemaPath: '',
        message,
        params,
      })) as unknown as Error,
    };
  };

/** Characters that cannot break a log line, a header or a URL; long enough for UUIDs and trace ids. */
const safeId = /^[\w.:-]{8,128}$/;

/** The caller's id if it is safe, else a new one. An id that holds a secret would be sent back and logged. */
export function requestIdOf(headers: IncomingHttpHeaders, ids: IdSource, redactor: Redactor): string {
  const given = headers['x-request-id'];
  const isSafe = typeof given === 'string' && safeId.test(given) && redactor.text(given) === given;
  return isSafe ? given : ids.uuid();
}
