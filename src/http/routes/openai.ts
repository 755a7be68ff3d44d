// OpenAI's API for unmodified clients. Bodies are passed through as bytes.
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { openAiApi } from '../../api/completions.ts';
import type { Operation } from '../../api/operation.ts';
import type { IdSource, Log } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type {
  CompletionOptions,
  CompletionResult,
  ProviderResponse,
  ProviderStream,
} from '../../gateway/index.ts';
import { GatewayError } from '../../gateway/index.ts';
import type { Caller } from '../access.ts';
import type { GatewayService, ServerDeps } from '../deps.ts';
import { HttpError } from '../errors.ts';
import type { TypedServer } from '../implement.ts';
import { routeOf } from '../implement.ts';
import { clientAbortSignal } from '../lifecycle.ts';
import { openAiErrorOf } from '../openai-error.ts';

/** The prefix of the plugin; paths of operations contain it. */
const prefix = '/v1';

export function openAiRoutes(root: TypedServer, dependencies: ServerDeps): void {
  const { gateway } = dependencies;
  // A plugin with its own scope, in which bodies stay bytes.
  const plugin = async (scope: FastifyInstance): Promise<void> => {
    const server = scope.withTypeProvider<ZodTypeProvider>();
    server.removeAllContentTypeParsers();
    server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
      done(null, body),
    );
    const add = (op: Operation, route: Pick<RouteOptions, 'handler' | 'validatorCompiler'>) =>
      server.route({
        ...routeOf(op, { bodyLimit: gateway.defaults.maxBodyBytes }),
        url: op.path.slice(prefix.length),
        ...route,
      });
    for (const name of ['chat', 'embeddings'] as const)
      add(openAiApi[name], {
        // The gateway parses the bytes itself; the schema is documentation.
        validatorCompiler: () => () => true,
        handler: (request, reply) => complete(name, dependencies, request, reply),
      });
    add(openAiApi.models, { handler: async () => ({ object: 'list', data: callableModels(gateway) }) });
    add(openAiApi.model, { handler: async (request) => callableModel(gateway, request) });
  };
  void root.register(plugin, { prefix });
}

async function complete(
  operation: 'chat' | 'embeddings',
  dependencies: ServerDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { gateway, log } = dependencies;
  const parsed = gateway.parseRequest(operation, bytesOf(request));
  const completion = await gateway.complete(parsed, completionOptions(request, reply, dependencies));
  return sendCompletion(reply, completion, log);
}

function bytesOf({ body, headers }: FastifyRequest): Uint8Array {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new HttpError(
      'HTTP_CONTENT_TYPE_UNSUPPORTED',
      'The request body is compressed, which is not supported here. Send plain JSON without content-encoding.',
    );
  if (body instanceof Uint8Array && body.byteLength > 0) return body;
  throw new CoreError(
    'INPUT_INVALID',
    'The request has no body. Send JSON with content-type: application/json.',
  );
}

function callableModels({ models }: GatewayService) {
  const names = models.listCallable().map(({ name, provider, createdAt }) => ({
    id: name,
    object: 'model' as const,
    created: Math.floor(createdAt.getTime() / 1_000),
    owned_by: provider,
  }));
  return [{ id: 'auto', object: 'model' as const, created: 0, owned_by: 'headworks' }, ...names];
}

function callableModel(gateway: GatewayService, request: FastifyRequest) {
  const name = (request.params as { readonly '*': string })['*'];
  const model = callableModels(gateway).find(({ id }) => id === name);
  if (model) return model;
  throw new GatewayError(
    'GATEWAY_MODEL_NOT_FOUND',
    `There is no callable model "${name}". GET /v1/models lists all.`,
  );
}

/* ---- options of a completion: routing headers, caller, request id, disconnects ---- */

/** Fails with INPUT_INVALID for an invalid routing header. */
export function completionOptions(
  request: FastifyRequest,
  reply: FastifyReply,
  { gateway, ids }: Pick<ServerDeps, 'gateway' | 'ids'>,
): CompletionOptions {
  return {
    requestId: attemptsId(request, ids),
    caller: callerName(request.caller),
    ...parseRoutingHeaders(request.headers, gateway.defaults),
    signal: clientAbortSignal(reply, reply.server.traffic),
  };
}

export function callerName(caller: Caller | null): string {
  return caller?.kind === 'gateway' ? `key:${caller.keyId}` : 'admin';
}

const suffixBytes = 6;

/**
 * The id that groups the attempts of a request: its request id. If the caller chose that, a random suffix is added: a
 * request counts once per model, and a caller that reuses one id would count only once.
 */
export function attemptsId(request: Pick<FastifyRequest, 'id' | 'headers'>, ids: IdSource): string {
  return request.headers['x-request-id'] === request.id
    ? `${request.id}/${ids.token(suffixBytes)}`
    : request.id;
}

export type RoutingHeaders = Pick<CompletionOptions, 'allowFallback' | 'deadlineMs' | 'waitMs'>;

/** Fails with INPUT_INVALID, naming the header. */
export function parseRoutingHeaders(
  headers: IncomingHttpHeaders,
  defaults: { readonly deadlineMs: number; readonly waitMs: number },
): RoutingHeaders {
  const fallback = headers['x-headworks-fallback'];
  if (fallback !== undefined && fallback !== 'none' && fallback !== 'all')
    throw invalid('x-headworks-fallback', 'none or all');
  return {
    allowFallback: fallback !== 'none',
    deadlineMs: parseSeconds(headers, 'x-headworks-timeout', 0.1) ?? defaults.deadlineMs,
    waitMs: parseSeconds(headers, 'x-headworks-wait', 0) ?? defaults.waitMs,
  };
}

const maxSeconds = 3_600;

/** In milliseconds; undefined without the header. */
function parseSeconds(headers: IncomingHttpHeaders, name: string, min: number): number | undefined {
  const value = headers[name];
  if (value === undefined) return undefined;
  const seconds =
    typeof value === 'string' && /^\d{1,4}(\.\d{1,3})?$/.test(value) ? Number(value) : Number.NaN;
  if (seconds >= min && seconds <= maxSeconds) return seconds * 1_000;
  throw invalid(name, `seconds from ${min} to ${maxSeconds}`);
}

function invalid(name: string, allowed: string): CoreError {
  return new CoreError('INPUT_INVALID', `The header ${name} must be ${allowed}.`, {
    details: { field: name },
  });
}

/* ---- sending, as bytes and past the framework, whose reply would cost a third of the throughput ---- */

/** A caller that reads nothing for this long is disconnected: it occupies a provider connection. */
const maxStallMs = 60_000;
/** Smaller bodies fit into the socket's buffers. */
const socketBufferBytes = 64 * 1024;

interface Sending {
  readonly raw: ServerResponse;
  readonly stallMs: number;
  /** For unexpected errors: the response has started, so no other handler can report them. */
  readonly onUnexpected: (error: unknown) => void;
}

/** Resolves when the response is sent or the caller has disconnected. Never fails. */
export function sendCompletion(
  reply: FastifyReply,
  completion: CompletionResult,
  log: Log,
  stallMs = maxStallMs,
): Promise<void> {
  const { response } = completion;
  const { raw, request } = reply;
  const headers = headersOf(reply, completion);
  const onUnexpected = (error: unknown) =>
    log.error('a model response could not be sent', { requestId: request.id, error });
  const abandon = (error: unknown) => {
    onUnexpected(error);
    raw.destroy();
  };
  const sending = { raw, stallMs, onUnexpected };
  reply.hijack();
  if (response.kind === 'stream') return sendStream(sending, response, headers, request.id).catch(abandon);
  try {
    sendWhole(sending, response, headers);
  } catch (error) {
    abandon(error);
  }
  return sent;
}

const sent = Promise.resolve();

/** Names and values alternating: Node writes them as they are, without looking up the names of an object. */
type Headers = (string | number)[];

/** The headers that hooks would have added to a regular reply, and which model responded. */
function headersOf(
  reply: FastifyReply,
  { response, model, attempts, isFallback }: CompletionResult,
): Headers {
  const headers: Headers = [
    'content-type',
    response.contentType,
    'cache-control',
    'no-store',
    'x-content-type-options',
    'nosniff',
    'x-request-id',
    reply.request.id,
    'x-headworks-model',
    model.name,
    'x-headworks-provider',
    model.provider,
    'x-headworks-attempts',
    String(attempts),
    'x-headworks-fallback',
    String(isFallback),
  ];
  const fromHooks = reply.getHeaders();
  for (const name in fromHooks) headers.push(name, String(fromHooks[name]));
  return headers;
}

function sendWhole({ raw, stallMs }: Sending, { status, body }: ProviderResponse, headers: Headers): void {
  headers.push('content-length', body.byteLength);
  raw.writeHead(status, headers);
  if (body.byteLength > socketBufferBytes) raw.setTimeout(stallMs);
  raw.end(body);
}

/** A slow reader slows the provider down; one that disconnects or stalls ends the provider call. */
async function sendStream(
  sending: Sending,
  stream: ProviderStream,
  headers: Headers,
  requestId: string,
): Promise<void> {
  const { raw, stallMs } = sending;
  headers.push('x-accel-buffering', 'no');
  raw.writeHead(stream.status, headers);
  for (const chunk of stream.head) raw.write(chunk);
  try {
    for await (const chunk of stream.rest) {
      if (raw.destroyed) return;
      if (!raw.write(chunk)) await drained(raw, stallMs);
    }
  } catch (error) {
    if (raw.destroyed) return;
    const { body, isUnexpected } = openAiErrorOf(error, requestId);
    if (isUnexpected) sending.onUnexpected(error);
    raw.write(`data: ${JSON.stringify(body)}\n\n`);
  }
  raw.setTimeout(stallMs);
  raw.end();
}

/** Resolves when more can be written, or the connection is closed. Node closes a socket that stalls for `stallMs`. */
function drained(raw: ServerResponse, stallMs: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      raw.off('drain', done);
      raw.off('close', done);
      raw.setTimeout(0);
      resolve();
    };
    raw.on('drain', done);
    raw.on('close', done);
    raw.setTimeout(stallMs);
  });
}
