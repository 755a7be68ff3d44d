// Composes the HTTP server, with its error responses, audit rows and change events. Building is not starting: the caller
// listens.
import fastify from 'fastify';
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { serializerCompiler } from 'fastify-type-provider-zod';
import type { Clock, Emitter, IdSource, Redactor } from '../core/index.ts';
import {
  CoreError,
  formatBytes,
  hasMoreValues,
  kindOf,
  maxJsonValues,
  noTracer,
  withTimeout,
} from '../core/index.ts';
import type { AuditRecord } from '../operations/index.ts';
import { installAccess, installOrganizationLimit } from './access.ts';
import type { GatewayServerDeps, HttpLimits, ServerDeps } from './deps.ts';
import { HttpError, redactStoreErrors, tooManyValues, toErrorResponse } from './errors.ts';
import type { HttpEvents } from './events.ts';
import {
  installNotFound,
  installTextCheck,
  installOriginCheck,
  installRouteTable,
  installSecurityHeaders,
  installSlowRequests,
} from './guards.ts';
import type { TypedServer } from './implement.ts';
import { installRouteRules, validatorCompiler, installDocs, installOpenApi } from './implement.ts';
import { handedOver, installDeadlines, installTraffic, sendLingering, traceRequests } from './lifecycle.ts';
import { anthropicErrorOf, openAiErrorOf } from './completion-errors.ts';
import { artifactRoutes } from './routes/artifacts.ts';
import { installDirectChat } from './routes/direct-chat.ts';
import { dashboardRoutes } from './routes/dashboard.ts';
import { extractionRoutes } from './routes/extraction.ts';
import { gatewayRoutes } from './routes/gateway.ts';
import { jobRoutes } from './routes/jobs.ts';
import { knowledgeRoutes } from './routes/knowledge.ts';
import { completionRoutes } from './routes/completions.ts';
import { serverRoutes } from './routes/server.ts';
import { tenancyRoutes } from './routes/tenancy.ts';
import { OpenStreams } from './streams.ts';
import { tenantErrorOf } from './tenant-api/error-response.ts';
import { tenantRoutes } from './tenant-api/routes.ts';

const defaultLimits: HttpLimits = {
  bodyLimitBytes: 1_048_576,
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 72_000,
  handlerTimeoutMs: 60_000,
  auditTimeoutMs: 2_000,
  organizationConcurrency: 20,
  heartbeatMs: 10_000,
  streamBufferBytes: 1_048_576,
  maxStreams: 256,
};

/**
 * A server that is complete but does not listen. Fails while building when a route does not declare its access.
 * Stop it with `drain`: `close` does not end open streams.
 */
export function buildServer(dependencies: ServerDeps): Promise<FastifyInstance> {
  const { uploadTimeoutSeconds } = dependencies.tenants.starter.uploads;
  return build(dependencies, uploadTimeoutSeconds, (server, limits) => {
    for (const register of routes) register(server, dependencies, limits);
  });
}

/** The same server with the routes of the gateway only. Uploads are passed on, so their timeout is needed, too. */
export function buildGatewayServer(
  dependencies: GatewayServerDeps,
  uploadTimeoutSeconds: number,
): Promise<FastifyInstance> {
  return build(dependencies, uploadTimeoutSeconds, (server) => completionRoutes(server, dependencies));
}

async function build(
  dependencies: GatewayServerDeps,
  uploadTimeoutSeconds: number,
  registerRoutes: (server: TypedServer, limits: HttpLimits) => void,
): Promise<FastifyInstance> {
  const limits: HttpLimits = { ...defaultLimits, ...dependencies.limits };
  const { clock, events, redactor } = dependencies;
  const handleError = createErrorHandler(dependencies);
  const server = fastify({
    logger: false,
    genReqId: (request) =>
      handedOver.get(request)?.requestId ?? requestIdOf(request.headers, dependencies.ids, redactor),
    bodyLimit: limits.bodyLimitBytes,
    requestTimeout: Math.max(limits.requestTimeoutMs, uploadMarginMs + uploadTimeoutSeconds * 1_000),
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    forceCloseConnections: true,
    return503OnClosing: false,
    frameworkErrors: handleError,
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
  if (dependencies.tracer !== noTracer) traceRequests(server, dependencies.tracer);
  installTraffic(server, clock, events);
  installSlowRequests(server, clock, limits.requestTimeoutMs);
  server.decorate('openStreams', new OpenStreams({ clock, events, limits }));
  installOriginCheck(server, dependencies, events);
  installAccess(server, dependencies.access, events);
  installOrganizationLimit(server, limits.organizationConcurrency, events);
  installRouteTable(server);
  installRouteRules(server);
  installDeadlines(server, clock, limits.handlerTimeoutMs);
  installTextCheck(server);
  // Error responses are redacted more thoroughly where they are made; content must arrive unchanged. Before the audit.
  server.addHook('onSend', async (_request, _reply, payload) =>
    typeof payload === 'string' ? redactor.content(payload) : payload,
  );
  installAudit(server, dependencies, limits.auditTimeoutMs);
  installChanges(server, events);
  installSecurityHeaders(server);
  installNotFound(server);
  await installOpenApi(server, dependencies.version);
  installDocs(server);
  registerRoutes(server.withTypeProvider<ZodTypeProvider>(), limits);
  await server.ready();
  // Spans need fastify's hooks.
  if (dependencies.tracer === noTracer) installDirectChat(server, dependencies, limits.requestTimeoutMs);
  return server;
}

const routes = [
  serverRoutes,
  jobRoutes,
  extractionRoutes,
  gatewayRoutes,
  completionRoutes,
  tenancyRoutes,
  tenantRoutes,
  knowledgeRoutes,
  artifactRoutes,
  dashboardRoutes,
];

/** The deployment API ends uploads that take too long itself; Node's limit is longer. */
const uploadMarginMs = 10_000;

/** An empty body counts as none: many clients send a content type without a body. */
function acceptJsonOnly(server: FastifyInstance): void {
  const parse = server.getDefaultJsonParser('error', 'error');
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined);
    else if (hasMoreValues(body as string, maxJsonValues)) done(tooManyValues());
    else void parse(request, body as string, done);
  });
}

/** Characters that cannot break a log line, a header or a URL; long enough for UUIDs and trace ids. */
const safeId = /^[\w.:-]{8,128}$/;

/** The caller's id if it is safe, else a new one. An id that holds a secret would be sent back and logged. */
export function requestIdOf(headers: IncomingHttpHeaders, ids: IdSource, redactor: Redactor): string {
  const given = headers['x-request-id'];
  const isSafe = typeof given === 'string' && safeId.test(given) && redactor.text(given) === given;
  return isSafe ? given : ids.uuid();
}

/** The error format of a path, also of an unknown one: clients of /v1 and of the tenant API expect other shapes. */
function errorFormatOf(url: string) {
  if (url.startsWith('/deployment/api')) return tenantErrorOf;
  if (/^\/v1\/messages(?:[/?]|$)/.test(url)) return anthropicErrorOf;
  return /^\/v1(?:[/?]|$)/.test(url) ? openAiErrorOf : ourErrorOf;
}

/** For fastify's setErrorHandler and frameworkErrors. */
export function createErrorHandler({ redactor, log, clock }: Pick<ServerDeps, 'redactor' | 'log' | 'clock'>) {
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const given =
      kindOf(thrown) === 'FST_ERR_CTP_BODY_TOO_LARGE' ? bodyTooLarge(request.routeOptions) : thrown;
    const error = request.caller?.kind === 'admin' ? given : redactStoreErrors(given);
    const { status, body, headers, isUnexpected } = errorFormatOf(request.url)(error, request.id);
    if (isUnexpected)
      log.error('a request failed unexpectedly', {
        requestId: request.id,
        method: request.method,
        route: request.routeOptions.url ?? 'unmatched',
        error,
      });
    void reply
      .code(status)
      .headers(headers)
      .header('x-request-id', request.id)
      .type('application/json; charset=utf-8');
    // As text: a response schema of the route must not turn a 400 into a 500.
    sendLingering(JSON.stringify(redactor.value(body)), request.raw, reply, clock);
  };
}

/** With the limit of its route and the setting that changes it. */
function bodyTooLarge({ bodyLimit, config }: FastifyRequest['routeOptions']): HttpError {
  const setting = config.bodyLimitSetting ?? 'server.bodyLimitBytes';
  return new HttpError(
    'HTTP_BODY_TOO_LARGE',
    `The request body is larger than ${formatBytes(bodyLimit)}. Send less at once, or raise ${setting}.`,
  );
}

function ourErrorOf(error: unknown, requestId: string) {
  const { retryAfterHeader, ...answer } = toErrorResponse(error, requestId);
  return { ...answer, headers: retryAfterHeader === undefined ? {} : { 'retry-after': retryAfterHeader } };
}

/** For input that the parser rejects before there is a request: responds with JSON and closes the connection. */
export function createClientErrorHandler(ids: IdSource) {
  return (error: Error, socket: Socket): void => {
    if (!socket.writable || kindOf(error) === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const { status, body } = toErrorResponse(rejectionFor(error), ids.uuid());
    const text = JSON.stringify(body);
    socket.end(
      `HTTP/1.1 ${status} ${status === 408 ? 'Request Timeout' : 'Bad Request'}\r\n` +
        `content-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(text)}\r\n` +
        `x-request-id: ${body.error.request_id}\r\nconnection: close\r\n\r\n${text}`,
    );
  };
}

function rejectionFor(error: Error): CoreError | HttpError {
  switch (kindOf(error)) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new HttpError('HTTP_REQUEST_TOO_SLOW', 'The request did not arrive completely in time.');
    case 'HPE_HEADER_OVERFLOW':
      return new HttpError(
        'HTTP_HEADERS_TOO_LARGE',
        'The request line and headers are too large. Send less.',
      );
    default:
      return new CoreError('INPUT_INVALID', 'This is not a valid HTTP request.');
  }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** No audit row and no change event: called too often, or changes nothing. */
    audit?: false;
  }
  interface FastifyRequest {
    isAudited: boolean;
  }
}

/**
 * One row per change with admin rights, written before the response is sent. Reads write none, and neither do rejected
 * credentials: they could fill the table. A row that cannot be written is an error event; the response is sent anyway.
 */
function installAudit(
  server: FastifyInstance,
  { clock, audit, events }: Pick<ServerDeps, 'clock' | 'audit' | 'events'>,
  timeoutMs: number,
): void {
  server.decorateRequest('isAudited', false);
  server.addHook('onSend', async (request, reply) => {
    if (request.isAudited || request.caller?.kind !== 'admin' || !isChange(request)) return;
    request.isAudited = true;
    const record = recordOf(request, reply, clock);
    try {
      // A store that hangs must not delay the response forever.
      await withTimeout(audit.record(record), { clock, timeoutMs });
    } catch (error) {
      const { action, status } = record;
      events.emit('http:audit-failed', { requestId: request.id, action, status, cause: kindOf(error) });
    }
  });
}

const isChange = ({ method, routeOptions }: FastifyRequest): boolean =>
  method !== 'GET' && method !== 'HEAD' && routeOptions.config.audit !== false;

function recordOf(
  request: FastifyRequest,
  reply: FastifyReply,
  clock: Clock,
): AuditRecord & { readonly status: number } {
  const status = reply.statusCode;
  const parameters = Object.entries(request.params as Record<string, string>);
  return {
    at: new Date(clock.now()),
    actor: 'admin',
    action: request.routeOptions.schema?.operationId ?? 'unknown',
    subject: parameters.length === 0 ? null : parameters.map(([name, value]) => `${name}=${value}`).join(' '),
    outcome: status < 400 ? 'completed' : status < 500 ? 'rejected' : 'failed',
    status,
    requestId: request.id,
  };
}

/** Emits which operation changed something, and no more; the live stream sends it to dashboards. */
function installChanges(server: FastifyInstance, events: Emitter<HttpEvents>): void {
  // Emitted when the response is made: the change happened even if the caller does not wait for it.
  server.addHook('onSend', (request, reply, payload, done) => {
    const { url = '', schema } = request.routeOptions;
    const isDone = reply.statusCode >= 200 && reply.statusCode < 300;
    if (isDone && isChange(request) && url.startsWith('/api/v1/') && schema?.operationId !== undefined)
      events.emit('http:changed', { operation: schema.operationId });
    done(null, payload);
  });
}
