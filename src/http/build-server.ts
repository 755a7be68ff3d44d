// Puts the HTTP server together. Building is not starting: nothing listens until the caller says so.
import type { FastifyInstance } from 'fastify';
import fastify from 'fastify';
import { serializerCompiler } from 'fastify-type-provider-zod';
import { installAccess } from './access.ts';
import { installAudit } from './audit-hook.ts';
import { installChanges } from './changes-hook.ts';
import { isTenantPath, sendTenantError } from './tenant-api/error-response.ts';
import { createClientErrorHandler, createErrorHandler } from './error-handler.ts';
import type { HttpLimits } from './limits.ts';
import { defaultHttpLimits } from './limits.ts';
import { installNotFound } from './not-found.ts';
import { OpenStreams } from './open-streams.ts';
import { declareDocsPublic, installDocs, installOpenApi } from './openapi.ts';
import { installNulCheck } from './nul-check.ts';
import { installOriginCheck } from './origin-check.ts';
import type { HttpDependencies } from './ports.ts';
import { requestIdOf } from './request-id.ts';
import { installRouteRules } from './route-rules.ts';
import { installRouteTable } from './route-table.ts';
import { registerRoutes } from './routes/index.ts';
import { installSecurityHeaders } from './security-headers.ts';
import { installSlowRequests } from './slow-requests.ts';
import { traceRequests } from './trace-requests.ts';
import { installTraffic } from './traffic.ts';
import { validatorCompiler } from './validator-compiler.ts';

/**
 * A server that is complete but does not listen. Fails while building when a route does not say who may call it.
 * Stop it with `drain`, not with `close`, which knows nothing of open streams.
 */
export async function buildServer(dependencies: HttpDependencies): Promise<FastifyInstance> {
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
      // How often the two limits above are looked at; the default of 30 s would make them meaningless.
      connectionsCheckingInterval: 1_000,
    },
    // A name of a hundred characters, each of four bytes, as it is written in an address.
    routerOptions: { maxParamLength: 1_200 },
  });
  server.setValidatorCompiler(validatorCompiler);
  server.setSerializerCompiler(serializerCompiler);
  server.setErrorHandler(handleError);
  acceptJsonOnly(server);

  // The order is the order in which a request meets them.
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
  // Error answers are redacted more thoroughly where they are made; content must arrive as it is.
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

/** The door ends an upload that takes too long by itself; Node comes after it. */
const uploadMarginMs = 10_000;

/** An empty body counts as none: many clients name a content type whatever they send. */
function acceptJsonOnly(server: FastifyInstance): void {
  const parse = server.getDefaultJsonParser('error', 'error');
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined);
    else void parse(request, body as string, done);
  });
}
