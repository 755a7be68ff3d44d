// One call to one provider: forwards the caller's bytes, and returns a response only once it has proven to be one.
import type {
  Clock,
  HttpCall,
  HttpReceiver,
  HttpRequest,
  HttpResponse,
  HttpTransport,
  HttpWait,
  IdSource,
  LinkedSignal,
} from '../../core/index.ts';
import type { Redactor } from '../../core/index.ts';
import { HttpFailure, linkSignals } from '../../core/index.ts';
import { quotaWindows } from '../../resilience/index.ts';
import type { Usage } from '../dialects/conversation.ts';
import { textOf } from '../dialects/wire.ts';
import type { FailureClass } from '../errors.ts';
import type {
  AttemptTimeouts,
  CompletionRequest,
  Model,
  ProviderCall,
  ProviderFailure,
  ProviderKey,
  ProviderOutcome,
  QuotaExhausted,
  TokenUsage,
} from '../types.ts';
import type { ClassifiedFailure } from './classify-failure.ts';
import { classifyFailure, classifyResponse, maxErrorBodyBytes } from './classify-failure.ts';
import type { Exchange } from './exchange.ts';
import { exchangeFor, usageEstimate } from './exchange.ts';
import { ProviderStreamBody } from './provider-stream.ts';
import type { StreamReader } from './stream-reader.ts';

export interface ProviderClientDeps {
  readonly transport: HttpTransport;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** Redacts provider keys from providers' messages before they are shown. */
  readonly redactor: Pick<Redactor, 'text'>;
  /** Larger responses without streaming are invalid. */
  readonly maxResponseBytes: number;
}

const maxMessageLength = 300;
const idBytes = 12;
/** How long to wait for the body of an error response: it may carry a retry hint, but the next model waits. */
const errorBodyMs = 1_000;
/** Limit for what comes before the first content: comments, role chunks, empty deltas. */
const maxHeadBytes = 256 * 1024;
const eventStream = 'text/event-stream; charset=utf-8';

export type ProviderClient = ReturnType<typeof createProviderClient>;

/**
 * One HTTP call, or two where the server rejects a beta flag. Never throws: every error is a ProviderFailure; an abort by
 * the caller's signal is `canceled`.
 */
export function createProviderClient(deps: ProviderClientDeps) {
  const { clock, ids } = deps;
  const context = { createId: () => ids.token(idBytes), now: () => clock.now() };
  const betas = new BetaFlags();
  const callOnce = (call: ProviderCall): Promise<ProviderOutcome> => {
    const { request, model, baseUrl } = call;
    const exchange = exchangeFor(request, model, context);
    const allowed = { ...exchange, headers: betas.allowed(baseUrl, exchange.headers) };
    return request.isStream ? callStreamed(deps, call, allowed) : callWhole(deps, call, allowed);
  };
  const callTwice = async (call: ProviderCall): Promise<ProviderOutcome> => {
    const outcome = await callOnce(call);
    const isLearned = outcome.kind === 'failure' && betas.learn(call.baseUrl, call.request.headers, outcome);
    return isLearned ? callOnce(call) : outcome;
  };
  return {
    call: (call: ProviderCall): Promise<ProviderOutcome> =>
      betaHeader in call.request.headers ? callTwice(call) : callOnce(call),
    canSend: ({ isStream, headers }: CompletionRequest): boolean =>
      deps.transport.send !== undefined && !isStream && !(betaHeader in headers),
    /**
     * `call` with a callback instead of promises, for requests that `canSend` accepts. The returned function cancels it,
     * with the outcome `canceled`.
     */
    send: (call: UncancelableCall, onOutcome: (outcome: ProviderOutcome) => void): (() => void) => {
      const exchange = exchangeFor(call.request, call.model, context);
      return new WholeCall(deps, call, exchange, onOutcome).start();
    },
  };
}

type UncancelableCall = Omit<ProviderCall, 'signal'>;

/** Flags of Anthropic's API that a server has rejected: the request is sent again without them. */
class BetaFlags {
  readonly #rejected = new Map<string, Set<string>>();

  allowed(baseUrl: string, headers: Exchange['headers']): Exchange['headers'] {
    const given = headers[betaHeader];
    const rejected = this.#rejected.get(baseUrl);
    if (given === undefined || !rejected) return headers;
    const { [betaHeader]: _given, ...others } = headers;
    const left = flagsIn(given).filter((flag) => !rejected.has(flag));
    return left.length === 0 ? others : { ...others, [betaHeader]: left.join(',') };
  }

  /** True when the failure names flags of the request that were not known to be rejected. */
  learn(baseUrl: string, headers: Exchange['headers'], { message, status }: ProviderFailure): boolean {
    const given = headers[betaHeader];
    if (given === undefined || status !== 400 || message?.includes(betaHeader) !== true) return false;
    const known = this.#rejected.get(baseUrl) ?? new Set<string>();
    const unknown = flagsIn(given).filter((flag) => !known.has(flag));
    const named = unknown.filter((flag) => message.includes(flag));
    const rejected = named.length > 0 ? named : unknown;
    if (this.#rejected.size >= maxServers) this.#rejected.clear();
    this.#rejected.set(baseUrl, new Set([...known, ...rejected].slice(-maxFlags)));
    return rejected.length > 0;
  }
}

const betaHeader = 'anthropic-beta';
const maxServers = 100;
const maxFlags = 100;

const flagsIn = (header: string): readonly string[] =>
  header
    .split(',')
    .map((flag) => flag.trim())
    .filter((flag) => flag !== '');

async function callWhole(
  deps: ProviderClientDeps,
  call: ProviderCall,
  exchange: Exchange,
): Promise<ProviderOutcome> {
  const { idleMs, firstTokenMs } = call.timeouts;
  let response: HttpResponse | undefined;
  try {
    const request = httpRequest(call, exchange, call.signal, idleMs, firstTokenMs);
    response = await deps.transport.request(request);
    if (!isSuccess(response)) return await errorResponse(deps, response, call.signal);
    const body = await response.bytes(deps.maxResponseBytes);
    return checkedResponse(deps, call.request, exchange, response, body);
  } catch (error) {
    return thrownFailure(deps, error, response);
  }
}

/** As `callWhole`. */
class WholeCall implements HttpReceiver {
  readonly #deps: ProviderClientDeps;
  readonly #call: UncancelableCall;
  readonly #exchange: Exchange;
  readonly #onOutcome: (outcome: ProviderOutcome) => void;
  #sent: HttpCall | undefined;
  #head: ResponseHead | undefined;
  #maxBytes: number;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #isCanceled = false;

  constructor(
    deps: ProviderClientDeps,
    call: UncancelableCall,
    exchange: Exchange,
    onOutcome: (outcome: ProviderOutcome) => void,
  ) {
    this.#deps = deps;
    this.#call = call;
    this.#exchange = exchange;
    this.#onOutcome = onOutcome;
    this.#maxBytes = deps.maxResponseBytes;
  }

  start(): () => void {
    const { idleMs, firstTokenMs } = this.#call.timeouts;
    const request = httpRequest(this.#call, this.#exchange, undefined, idleMs, firstTokenMs);
    this.#sent = this.#deps.transport.send?.(request, this);
    return () => this.#cancel();
  }

  onHead(status: number, headers: HttpHeaders): void {
    this.#head = { status, headers };
    if (isSuccess(this.#head)) return;
    this.#maxBytes = maxErrorBodyBytes;
    this.#sent?.limit(errorBodyMs);
  }

  onChunk(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    if (this.#bytes > this.#maxBytes)
      this.#sent?.abort(new HttpFailure('too-large', `The response is larger than ${this.#maxBytes} bytes.`));
  }

  onEnd(): void {
    const [only] = this.#chunks;
    const body = this.#chunks.length === 1 && only ? only : Buffer.concat(this.#chunks);
    this.#settle(() => {
      const head = this.#head as ResponseHead;
      return isSuccess(head)
        ? checkedResponse(this.#deps, this.#call.request, this.#exchange, head, body)
        : classifiedFailure(this.#deps, head, textOf(body));
    });
  }

  onFailure(failure: HttpFailure): void {
    const head = this.#head;
    this.#settle(() =>
      head && !isSuccess(head) && !this.#isCanceled
        ? classifiedFailure(this.#deps, head, '')
        : thrownFailure(this.#deps, failure, head),
    );
  }

  #cancel(): void {
    this.#isCanceled = true;
    this.#sent?.abort(new HttpFailure('aborted', 'The call was stopped by its caller.'));
  }

  #settle(outcomeOf: () => ProviderOutcome): void {
    let outcome: ProviderOutcome;
    try {
      outcome = outcomeOf();
    } catch (error) {
      outcome = thrownFailure(this.#deps, error, this.#head);
    }
    this.#onOutcome(outcome);
  }
}

/**
 * One timer covers everything up to the first content: headers, comments and blank lines are not what was requested.
 * After it the stream has its own idle timeout, and keeps the link.
 */
async function callStreamed(
  deps: ProviderClientDeps,
  call: ProviderCall,
  exchange: Exchange,
): Promise<ProviderOutcome> {
  const { firstTokenMs } = call.timeouts;
  const link = linkSignals(call.signal);
  let isTimedOut = false;
  const cancelTimer = deps.clock.after(firstTokenMs, () => {
    isTimedOut = true;
    link.abort(new HttpFailure('timeout', `${call.model.name}: no content within ${firstTokenMs} ms.`));
  });
  let isCommitted = false;
  let response: HttpResponse | undefined;
  try {
    // The timer above, then that of the stream: a third one per chunk would be too many.
    const request = httpRequest(call, exchange, link.signal, Number.POSITIVE_INFINITY);
    response = await deps.transport.request(request);
    const outcome = await streamedOutcome(deps, call, exchange, response, link);
    isCommitted = outcome.kind === 'stream';
    return outcome;
  } catch (error) {
    const timeout = isTimedOut && new HttpFailure('timeout', 'No content in time.', error, 'response');
    return thrownFailure(deps, timeout || error, response);
  } finally {
    cancelTimer();
    if (!isCommitted) link.dispose();
  }
}

async function streamedOutcome(
  deps: ProviderClientDeps,
  { request, timeouts, model, signal }: ProviderCall,
  exchange: Exchange,
  response: HttpResponse,
  link: LinkedSignal,
): Promise<ProviderOutcome> {
  if (!isSuccess(response)) return errorResponse(deps, response, signal);
  // Some providers respond to a streaming request in one piece: it is passed on as one event.
  if (contentType(response).includes('json'))
    return checkedResponse(deps, request, exchange, response, await response.bytes(deps.maxResponseBytes));
  const chunks = response.body[Symbol.asyncIterator]();
  const reader = exchange.createReader();
  const { head, received } = await readHead(chunks, reader);
  if (!reader.isCommitted) {
    const { failure } = reader;
    // It ended without content: it may not have been a stream.
    if (!failure) return checkedResponse(deps, request, exchange, response, Buffer.concat(received));
    await chunks.return?.();
    return 'errorBody' in failure
      ? classifiedFailure(deps, response, failure.errorBody)
      : plainFailure(failure.failureClass, response.status);
  }
  const rest = new ProviderStreamBody({
    chunks,
    reader,
    link,
    clock: deps.clock,
    idleMs: timeouts.idleMs,
    tokens: () => tokenUsage(request, reader.usage, reader.characters),
    model: model.name,
  });
  const type = contentType(response);
  return {
    kind: 'stream',
    status: response.status,
    contentType: type.includes('event-stream') ? type : eventStream,
    head,
    rest,
    ended: rest.ended,
    quotaExhaustedUntil: quotaExhaustedUntil(response.headers, deps.clock),
  };
}

function httpRequest(
  { model, baseUrl, key, request, timeouts }: UncancelableCall,
  { path, headers: ofExchange, body }: Exchange,
  signal: AbortSignal | undefined,
  bodyTimeoutMs: number,
  responseTimeoutMs = Number.POSITIVE_INFINITY,
): HttpRequest {
  return {
    method: 'POST',
    url: baseUrl + path,
    headers: headersOf(model, key, request, ofExchange),
    body,
    ...(signal && { signal }),
    connectTimeoutMs: timeouts.connectMs,
    headersTimeoutMs: timeouts.firstTokenMs,
    bodyTimeoutMs,
    responseTimeoutMs,
  };
}

type HttpHeaders = Readonly<Record<string, string>>;
type ResponseHead = Pick<HttpResponse, 'status' | 'headers'>;

/** Of JSON requests without headers of their own, by model and key: first whole ones, then streams. */
const usualHeaders = new WeakMap<Model, Map<ProviderKey, HttpHeaders[]>>();

function headersOf(
  model: Model,
  key: ProviderKey,
  request: CompletionRequest,
  ofExchange: HttpHeaders,
): HttpHeaders {
  if (request.contentType !== 'application/json' || Object.keys(ofExchange).length > 0)
    return createHeaders(model, key, request, ofExchange);
  const index = Number(request.isStream);
  let ofModel = usualHeaders.get(model);
  if (!ofModel) usualHeaders.set(model, (ofModel = new Map()));
  let ofKey = ofModel.get(key);
  if (!ofKey) ofModel.set(key, (ofKey = []));
  return (ofKey[index] ??= createHeaders(model, key, request, ofExchange));
}

function createHeaders(
  model: Model,
  key: ProviderKey,
  request: CompletionRequest,
  ofExchange: HttpHeaders,
): HttpHeaders {
  const headers: Record<string, string> = { ...ofExchange, ...model.headers };
  headers['content-type'] = request.contentType;
  headers['accept'] = request.isStream ? 'text/event-stream, application/json' : 'application/json';
  // The bytes are passed on as they come, so they must not be compressed.
  headers['accept-encoding'] = 'identity';
  if (key.secret !== null)
    headers[model.keyHeader] = model.keyHeader === 'authorization' ? `Bearer ${key.secret}` : key.secret;
  return headers;
}

/**
 * The bytes up to the first content, the end or a failure, as the caller gets them and as they came: held back, so that
 * another model can still take over. Fails with an HttpFailure.
 */
async function readHead(
  chunks: AsyncIterator<Uint8Array>,
  reader: StreamReader,
): Promise<{ readonly head: readonly Uint8Array[]; readonly received: readonly Uint8Array[] }> {
  const head: Uint8Array[] = [];
  const received: Uint8Array[] = [];
  let receivedBytes = 0;
  while (!reader.isCommitted && !reader.failure) {
    const next = await chunks.next();
    if (!next.done) {
      received.push(next.value);
      receivedBytes += next.value.length;
    }
    const bytes = next.done ? reader.end() : reader.push(next.value);
    if (bytes) head.push(bytes);
    if (next.done) break;
    if (!reader.isCommitted && (reader.isDone || receivedBytes - reader.pendingBytes > maxHeadBytes))
      reader.failure ??= { failureClass: 'invalid-response' };
  }
  return { head, received };
}

/* ---- outcomes ---- */

/** A whole body with status 2xx: a response, an error in disguise, or neither. */
function checkedResponse(
  deps: ProviderClientDeps,
  request: CompletionRequest,
  exchange: Exchange,
  response: ResponseHead,
  received: Uint8Array,
): ProviderOutcome {
  const read = exchange.readResponse(received, contentType(response));
  if (read.state === 'error') return classifiedFailure(deps, response, read.body);
  if (read.state === 'invalid') return plainFailure(read.failureClass, response.status);
  return {
    kind: 'response',
    status: response.status,
    contentType: request.isStream ? eventStream : contentType(response) || 'application/json',
    body: read.body,
    tokens: tokenUsage(request, read.usage, read.characters),
    quotaExhaustedUntil: quotaExhaustedUntil(response.headers, deps.clock),
  };
}

/** The status decides; a body that does not arrive soon, or never ends, is ignored. */
async function errorResponse(
  deps: ProviderClientDeps,
  response: HttpResponse,
  callerSignal: AbortSignal,
): Promise<ProviderFailure> {
  const body = await response.bytes(maxErrorBodyBytes, errorBodyMs).catch((error: unknown) => {
    if (error instanceof HttpFailure && !callerSignal.aborted) return new Uint8Array();
    throw error;
  });
  return classifiedFailure(deps, response, textOf(body));
}

/** `head`: what had arrived of the response. */
function thrownFailure(
  deps: ProviderClientDeps,
  error: unknown,
  head: ResponseHead | undefined,
): ProviderFailure {
  const failure =
    error instanceof HttpFailure ? error : new HttpFailure('network', 'The call failed.', error);
  const exceeded = failure.wait && timeoutOfWait[failure.wait];
  const classified = classifyFailure(failure);
  const isInterrupted = classified.failureClass === 'network' && head !== undefined;
  return { ...failureOf(deps, classified), exceeded, isInterrupted };
}

const timeoutOfWait: Readonly<Record<HttpWait, keyof AttemptTimeouts>> = {
  connect: 'connectMs',
  headers: 'firstTokenMs',
  response: 'firstTokenMs',
  body: 'idleMs',
};

function classifiedFailure(deps: ProviderClientDeps, response: ResponseHead, body: string): ProviderFailure {
  const { status, headers } = response;
  return failureOf(deps, classifyResponse({ status, headers, body }, deps.clock.now()));
}

function failureOf({ redactor }: ProviderClientDeps, classified: ClassifiedFailure): ProviderFailure {
  const { failureClass, status, retryHint, message } = classified;
  // Redacted before it is truncated: half a secret is not recognized.
  const clean = message === null ? null : redactor.text(message).replace(/\s+/g, ' ').trim();
  const shown =
    clean !== null && clean.length > maxMessageLength ? `${clean.slice(0, maxMessageLength)}…` : clean;
  return { kind: 'failure', failureClass, status, retryHint, message: shown };
}

function plainFailure(failureClass: FailureClass, status: number): ProviderFailure {
  return { kind: 'failure', failureClass, status, retryHint: undefined, message: null };
}

function tokenUsage(request: CompletionRequest, usage: Usage | undefined, characters: number): TokenUsage {
  return usage
    ? { ...usage, isEstimated: false }
    : { ...usageEstimate(request)(characters), isEstimated: true };
}

/** From the quota headers of a successful response: the latest reset of the windows that are used up. */
function quotaExhaustedUntil(
  headers: Readonly<Record<string, string>>,
  clock: Clock,
): QuotaExhausted | undefined {
  if (!mayBeExhausted(headers)) return undefined;
  const now = clock.now();
  let latest: QuotaExhausted | undefined;
  for (const { remaining, resetMs, source } of quotaWindows(headers, now)) {
    if (remaining !== 0 || resetMs === 0) continue;
    if (latest === undefined || now + resetMs > latest.at) latest = { at: now + resetMs, source };
  }
  return latest;
}

/** Nearly always false: a quick check that saves parsing all windows. */
function mayBeExhausted(headers: Readonly<Record<string, string>>): boolean {
  for (const name in headers)
    if (name === 'ratelimit' || (name.includes('remaining') && headers[name]?.trim().startsWith('0')))
      return true;
  return false;
}

function isSuccess({ status }: ResponseHead): boolean {
  return status >= 200 && status < 300;
}

function contentType({ headers }: ResponseHead): string {
  return headers['content-type'] ?? '';
}
