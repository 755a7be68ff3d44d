// The APIs of OpenAI and Anthropic for unmodified clients.
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { completionsApi, passThroughApi } from '../../api/completions.ts';
import type { Operation } from '../../api/operation.ts';
import type { IdSource, Log } from '../../core/index.ts';
import { CoreError, latin1Of } from '../../core/index.ts';
import type {
  ChatApi,
  CompletionOptions,
  CompletionResult,
  ProviderResponse,
  ProviderStream,
  RequestHeaders,
  RequestKind,
} from '../../gateway/index.ts';
import { GatewayError, passThroughEndpoints } from '../../gateway/index.ts';
import type { Caller } from '../access.ts';
import type { GatewayServerDeps, GatewayService, ServerDeps } from '../deps.ts';
import { HttpError } from '../errors.ts';
import type { TypedServer } from '../implement.ts';
import { routeOf } from '../implement.ts';
import { clientAbortSignal, handedOver } from '../lifecycle.ts';
import { streamErrorOf } from '../completion-errors.ts';

/** The prefix of the plugin; paths of operations contain it. */
const prefix = '/v1';

/** The bodies stay bytes: most are passed through. */
const bodyTypes = ['application/json', 'multipart/form-data'];

export function completionRoutes(root: TypedServer, dependencies: GatewayServerDeps): void {
  const { gateway } = dependencies;
  // A plugin with its own scope, for its own content types.
  const plugin = async (scope: FastifyInstance): Promise<void> => {
    const server = scope.withTypeProvider<ZodTypeProvider>();
    server.removeAllContentTypeParsers();
    server.addContentTypeParser(bodyTypes, { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    const add = (op: Operation, route: Pick<RouteOptions, 'handler' | 'validatorCompiler'>) =>
      server.route({
        ...routeOf(op, {
          bodyLimit: { bytes: gateway.defaults.maxBodyBytes, setting: 'gateway.maxBodyBytes' },
        }),
        url: op.path.slice(prefix.length),
        ...route,
      });
    // Its body has been read before.
    server.addHook('preParsing', (request, _reply, payload, done) => {
      const failed = handedOver.get(request.raw);
      done(failed ? (failed.error as Error) : null, payload);
    });
    // The gateway parses the bytes itself; the schema is documentation.
    const validatorCompiler = () => () => true;
    for (const kind of ['chat', 'embeddings', 'messages', 'completions'] as const)
      add(completionsApi[kind], {
        validatorCompiler,
        handler: (request, reply) => complete(kind, dependencies, request, reply),
      });
    add(completionsApi.responses, {
      validatorCompiler,
      handler: (request, reply) => respond(dependencies, request, reply),
    });
    add(completionsApi.getResponse, {
      handler: async (request) => gateway.responses.get(responseId(request), callerName(request.caller)),
    });
    add(completionsApi.deleteResponse, {
      handler: async (request) => {
        const id = responseId(request);
        await gateway.responses.delete(id, callerName(request.caller));
        return { id, object: 'response', deleted: true };
      },
    });
    add(completionsApi.countTokens, {
      validatorCompiler,
      handler: (request, reply) => countTokens(dependencies, request, reply),
    });
    for (const endpoint of passThroughEndpoints)
      add(passThroughApi[endpoint], {
        validatorCompiler,
        handler: (request, reply) => complete(endpoint, dependencies, request, reply),
      });
    add(completionsApi.models, { handler: async () => ({ object: 'list', data: callableModels(gateway) }) });
    add(completionsApi.model, { handler: async (request) => callableModel(gateway, request) });
  };
  void root.register(plugin, { prefix });
}

const responseId = ({ params }: FastifyRequest): string => (params as { readonly id: string }).id;

async function complete(
  kind: RequestKind,
  dependencies: GatewayServerDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { gateway, log } = dependencies;
  const parsed = gateway.parseRequest(kind, bytesOf(request), requestHeaders(request));
  const completion = await gateway.complete(parsed, completionOptions(request, reply, dependencies));
  return sendReply(reply, parsed.api, completion, log);
}

function sendReply(
  reply: FastifyReply,
  api: ChatApi | null,
  completion: CompletionResult,
  log: Log,
): Promise<void> {
  reply.hijack();
  return sendCompletion(
    { raw: reply.raw, requestId: reply.request.id, headers: reply.getHeaders() },
    api,
    completion,
    log,
  );
}

/** Responses are kept for `previous_response_id`, unless the caller sends `store: false`. */
async function respond(
  dependencies: GatewayServerDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { gateway, log } = dependencies;
  const options = completionOptions(request, reply, dependencies);
  const { body, input, previousId } = await gateway.responses.expand(bytesOf(request), options.caller);
  const parsed = {
    ...gateway.parseRequest('responses', body),
    ...(previousId !== null && { previousResponseId: previousId }),
  };
  const completion = await gateway.complete(parsed, options);
  const stored = gateway.responses.capture(parsed, completion, { caller: options.caller, input, previousId });
  return sendReply(reply, 'responses', await stored, log);
}

/** As the provider counts them where it can, otherwise an estimate that says so. */
async function countTokens(
  dependencies: GatewayServerDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { gateway } = dependencies;
  const parsed = gateway.parseRequest('messages', bytesOf(request), requestHeaders(request));
  const counted = await gateway.countTokens(parsed, completionOptions(request, reply, dependencies));
  reply.header('x-headworks-estimated', String(counted.isEstimated));
  return { input_tokens: counted.tokens };
}

/** Headers of Anthropic that its own API needs. */
function requestHeaders({ headers }: FastifyRequest): RequestHeaders {
  const contentType = headers['content-type'] ?? 'application/json';
  const passedOn: Record<string, string> = {};
  for (const name of ['anthropic-version', 'anthropic-beta'])
    if (typeof headers[name] === 'string') passedOn[name] = headers[name];
  return { contentType, passedOn };
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
  const others = ['auto', ...models.listAliases()];
  const listed = others.map((id) => ({ id, object: 'model' as const, created: 0, owned_by: 'headworks' }));
  return [...listed, ...names.filter(({ id }) => !others.includes(id))];
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

export type RoutingHeaders = Pick<
  CompletionOptions,
  'allowFallback' | 'deadlineMs' | 'isDeadlineByCaller' | 'waitMs'
>;

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
    isDeadlineByCaller: headers['x-headworks-timeout'] !== undefined,
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

/** Node writes texts up to this size without allocating memory for them. */
const smallBodyBytes = 15 * 1024;

interface Sending {
  readonly raw: ServerResponse;
  /** The API of the caller, for errors in a stream. */
  readonly api: ChatApi | null;
  readonly stallMs: number;
  /** For unexpected errors: the response has started, so no other handler can report them. */
  readonly onUnexpected: (error: unknown) => void;
}

export interface Recipient {
  readonly raw: ServerResponse;
  readonly requestId: string;
  /** That hooks have set. */
  readonly headers?: ReturnType<FastifyReply['getHeaders']>;
}

/** Resolves when the response is sent or the caller has disconnected. Never fails. */
export function sendCompletion(
  recipient: Recipient,
  api: ChatApi | null,
  completion: CompletionResult,
  log: Log,
  stallMs = maxStallMs,
): Promise<void> {
  const { response } = completion;
  const { raw, requestId } = recipient;
  const headers = headersOf(recipient, completion);
  const onUnexpected = (error: unknown) =>
    log.error('a model response could not be sent', { requestId, error });
  const abandon = (error: unknown) => {
    onUnexpected(error);
    raw.destroy();
  };
  const sending = { raw, api, stallMs, onUnexpected };
  if (response.kind === 'stream') return sendStream(sending, response, headers, requestId).catch(abandon);
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
  { requestId, headers: fromHooks }: Recipient,
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
    requestId,
    'x-headworks-model',
    model.name,
    'x-headworks-provider',
    model.provider,
    'x-headworks-attempts',
    String(attempts),
    'x-headworks-fallback',
    String(isFallback),
  ];
  for (const name in fromHooks) headers.push(name, String(fromHooks[name as keyof typeof fromHooks]));
  return headers;
}

function sendWhole({ raw, stallMs }: Sending, { status, body }: ProviderResponse, headers: Headers): void {
  headers.push('content-length', body.byteLength);
  raw.writeHead(status, headers);
  if (body.byteLength > socketBufferBytes) raw.setTimeout(stallMs);
  // Node joins a text with the headers to one write; this one has the same bytes.
  if (body.byteLength <= smallBodyBytes) raw.end(latin1Of(body), 'latin1');
  else raw.end(body);
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
    await (pipe(sending, stream) ?? writeAll(sending, stream));
  } catch (error) {
    if (raw.destroyed) return;
    const { event, isUnexpected } = streamErrorOf(sending.api, error, requestId);
    if (isUnexpected) sending.onUnexpected(error);
    raw.write(event);
  }
  raw.setTimeout(stallMs);
  raw.end();
}

/** Undefined: the stream must be iterated. */
function pipe({ raw, stallMs }: Sending, { rest }: ProviderStream): Promise<void> | undefined {
  if (!rest.pipeTo || raw.destroyed) return undefined;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onDrain = () => {
    raw.setTimeout(0);
    piped?.resume();
  };
  const onClose = () => {
    piped?.stop();
    resolve();
  };
  const piped = rest.pipeTo({
    write: (bytes) => {
      if (raw.destroyed || raw.write(bytes)) return true;
      raw.setTimeout(stallMs);
      return false;
    },
    end: resolve,
    fail: reject,
  });
  if (!piped) return undefined;
  raw.on('drain', onDrain);
  raw.on('close', onClose);
  return promise.finally(() => {
    raw.off('drain', onDrain);
    raw.off('close', onClose);
  });
}

async function writeAll({ raw, stallMs }: Sending, { rest }: ProviderStream): Promise<void> {
  for await (const chunk of rest) {
    if (raw.destroyed) return;
    if (!raw.write(chunk)) await drained(raw, stallMs);
  }
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
