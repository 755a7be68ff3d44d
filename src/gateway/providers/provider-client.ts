// One call to one provider: forwards the caller's bytes, and returns a response only once it has proven to be one.
import type {
  Clock,
  HttpResponse,
  HttpRequest,
  HttpTransport,
  HttpWait,
  LinkedSignal,
} from '../../core/index.ts';
import type { Redactor } from '../../core/index.ts';
import { HttpFailure, linkSignals } from '../../core/index.ts';
import { quotaWindows } from '../../resilience/index.ts';
import type { ReportedUsage } from '../dialects/openai-shared.ts';
import { dialectOf, responseToSse } from '../dialects/openai.ts';
import { charactersPerToken, checkBody } from '../dialects/openai-shared.ts';
import { spliceModel, textOf } from '../dialects/wire.ts';
import type { FailureClass } from '../errors.ts';
import type {
  AttemptTimeouts,
  CompletionRequest,
  ProviderCall,
  ProviderFailure,
  ProviderOutcome,
  QuotaExhausted,
  TokenUsage,
} from '../types.ts';
import type { ClassifiedFailure } from './classify-failure.ts';
import { classifyFailure, classifyResponse, maxErrorBodyBytes } from './classify-failure.ts';
import { ProviderStreamBody } from './provider-stream.ts';
import { StreamReader } from './stream-reader.ts';

export interface ProviderClientDeps {
  readonly transport: HttpTransport;
  readonly clock: Clock;
  /** Redacts provider keys from providers' messages before they are shown. */
  readonly redactor: Pick<Redactor, 'text'>;
  /** Larger responses without streaming are invalid. */
  readonly maxResponseBytes: number;
}

const maxMessageLength = 300;
/** How long to wait for the body of an error response: it may carry a retry hint, but the next model waits. */
const errorBodyMs = 1_000;
/** Limit for what comes before the first content: comments, role chunks, empty deltas. */
const maxHeadBytes = 256 * 1024;
const eventStream = 'text/event-stream; charset=utf-8';

export type ProviderClient = ReturnType<typeof createProviderClient>;

/** One HTTP call. Never throws: every error is a ProviderFailure; an abort by the caller's signal is `canceled`. */
export const createProviderClient = (deps: ProviderClientDeps) => ({
  call: (call: ProviderCall): Promise<ProviderOutcome> =>
    call.request.isStream ? callStreamed(deps, call) : callWhole(deps, call),
});

async function callWhole(deps: ProviderClientDeps, call: ProviderCall): Promise<ProviderOutcome> {
  const { idleMs, firstTokenMs } = call.timeouts;
  try {
    const response = await deps.transport.request(httpRequest(call, call.signal, idleMs, firstTokenMs));
    if (!isSuccess(response)) return await errorResponse(deps, response, call.signal);
    return checkedResponse(deps, call.request, response, await response.bytes(deps.maxResponseBytes));
  } catch (error) {
    return thrownFailure(deps, error);
  }
}

/**
 * One timer covers everything up to the first content: headers, comments and blank lines are not what was requested.
 * After it the stream has its own idle timeout, and keeps the link.
 */
async function callStreamed(deps: ProviderClientDeps, call: ProviderCall): Promise<ProviderOutcome> {
  const { firstTokenMs, idleMs } = call.timeouts;
  const link = linkSignals(call.signal);
  let isTimedOut = false;
  const cancelTimer = deps.clock.after(firstTokenMs, () => {
    isTimedOut = true;
    link.abort(new HttpFailure('timeout', `${call.model.name}: no content within ${firstTokenMs} ms.`));
  });
  let isCommitted = false;
  try {
    const request = httpRequest(call, link.signal, Math.max(firstTokenMs, idleMs));
    const outcome = await streamedOutcome(deps, call, await deps.transport.request(request), link);
    isCommitted = outcome.kind === 'stream';
    return outcome;
  } catch (error) {
    const timeout = isTimedOut && new HttpFailure('timeout', 'No content in time.', error, 'response');
    return thrownFailure(deps, timeout || error);
  } finally {
    cancelTimer();
    if (!isCommitted) link.dispose();
  }
}

async function streamedOutcome(
  deps: ProviderClientDeps,
  { request, timeouts, model, signal }: ProviderCall,
  response: HttpResponse,
  link: LinkedSignal,
): Promise<ProviderOutcome> {
  if (!isSuccess(response)) return errorResponse(deps, response, signal);
  // Some providers respond to a streaming request in one piece: it is passed on as one event.
  if (contentType(response).includes('json'))
    return checkedResponse(deps, request, response, await response.bytes(deps.maxResponseBytes));
  const chunks = response.body[Symbol.asyncIterator]();
  const reader = new StreamReader(request.choiceCount);
  const head = await readHead(chunks, reader);
  if (!reader.isCommitted) {
    const { failure } = reader;
    // It ended without content: it may not have been a stream.
    if (!failure) return checkedResponse(deps, request, response, Buffer.concat(head));
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
    quotaExhaustedUntil: quotaExhaustedUntil(response.headers, deps.clock.now()),
  };
}

function httpRequest(
  { model, baseUrl, key, request, timeouts }: ProviderCall,
  signal: AbortSignal,
  bodyTimeoutMs: number,
  responseTimeoutMs = Number.POSITIVE_INFINITY,
): HttpRequest {
  const headers: Record<string, string> = { ...model.headers, 'content-type': 'application/json' };
  headers['accept'] = request.isStream ? 'text/event-stream, application/json' : 'application/json';
  // The bytes are passed on as they come, so they must not be compressed.
  headers['accept-encoding'] = 'identity';
  if (key.secret !== null) headers['authorization'] = `Bearer ${key.secret}`;
  return {
    method: 'POST',
    url: baseUrl + dialectOf(request.operation).path,
    headers,
    body: spliceModel(request, model.upstreamModel),
    signal,
    connectTimeoutMs: timeouts.connectMs,
    headersTimeoutMs: timeouts.firstTokenMs,
    bodyTimeoutMs,
    responseTimeoutMs,
  };
}

/**
 * The bytes up to the first content, the end or a failure: held back, so that another model can still take over. Fails
 * with an HttpFailure.
 */
async function readHead(
  chunks: AsyncIterator<Uint8Array>,
  reader: StreamReader,
): Promise<readonly Uint8Array[]> {
  const head: Uint8Array[] = [];
  let headBytes = 0;
  while (!reader.isCommitted && !reader.failure) {
    const next = await chunks.next();
    const bytes = next.done ? reader.end() : reader.push(next.value);
    if (bytes) head.push(bytes);
    headBytes += bytes?.length ?? 0;
    if (next.done) break;
    if (!reader.isCommitted && (reader.isDone || headBytes + reader.pendingBytes > maxHeadBytes))
      reader.failure ??= { failureClass: 'invalid-response' };
  }
  return head;
}

/* ---- outcomes ---- */

/** A whole body with status 2xx: a response, an error in disguise, or neither. */
function checkedResponse(
  deps: ProviderClientDeps,
  request: CompletionRequest,
  response: HttpResponse,
  body: Uint8Array,
): ProviderOutcome {
  const check = checkBody(dialectOf(request.operation), request, body);
  if (check.state === 'error') return classifiedFailure(deps, response, check.body);
  if (check.state === 'invalid') return plainFailure(check.failureClass, response.status);
  return {
    kind: 'response',
    status: response.status,
    contentType: request.isStream ? eventStream : contentType(response) || 'application/json',
    body: request.isStream ? responseToSse(body) : body,
    tokens: tokenUsage(request, check.usage, check.characters),
    quotaExhaustedUntil: quotaExhaustedUntil(response.headers, deps.clock.now()),
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

function thrownFailure(deps: ProviderClientDeps, error: unknown): ProviderFailure {
  const failure =
    error instanceof HttpFailure ? error : new HttpFailure('network', 'The call failed.', error);
  const exceeded = failure.wait && timeoutOfWait[failure.wait];
  return { ...failureOf(deps, classifyFailure(failure)), exceeded };
}

const timeoutOfWait: Readonly<Record<HttpWait, keyof AttemptTimeouts>> = {
  connect: 'connectMs',
  headers: 'firstTokenMs',
  response: 'firstTokenMs',
  body: 'idleMs',
};

function classifiedFailure(deps: ProviderClientDeps, response: HttpResponse, body: string): ProviderFailure {
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

function tokenUsage(
  request: CompletionRequest,
  usage: ReportedUsage | undefined,
  characters: number,
): TokenUsage {
  if (usage) return { ...usage, isEstimated: false };
  const completion = Math.ceil(characters / charactersPerToken);
  return { prompt: request.estimatedPromptTokens, completion, isEstimated: true };
}

/** From the quota headers of a successful response: the latest reset of the windows that are used up. */
function quotaExhaustedUntil(
  headers: Readonly<Record<string, string>>,
  now: number,
): QuotaExhausted | undefined {
  if (!mayBeExhausted(headers)) return undefined;
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

function isSuccess({ status }: HttpResponse): boolean {
  return status >= 200 && status < 300;
}

function contentType({ headers }: HttpResponse): string {
  return headers['content-type'] ?? '';
}
