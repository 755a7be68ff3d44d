// One call to one provider: sends the caller's bytes, and hands out an answer only once it has proven to be one.
import type {
  Clock,
  HttpAnswer,
  HttpRequest,
  HttpTransport,
  HttpWait,
  LinkedSignal,
  Redactor,
} from '../../core/index.ts';
import { HttpFailure, linkSignals } from '../../core/index.ts';
import type { ClassifiedFailure, TokenCounts } from '../classification/index.ts';
import { checkAnswer, classifyAnswer, classifyFailure, longestErrorBody } from '../classification/index.ts';
import type { FailureClass } from '../failure-classes.ts';
import type {
  CompletionRequest,
  AttemptTimeouts,
  ProviderResponse,
  ProviderClient,
  ProviderFailure,
  ProviderStream,
  Tokens,
} from '../ports.ts';
import { textOf } from '../text-of.ts';
import { asStream } from './as-stream.ts';
import { ProviderStreamBody } from './committed-stream.ts';
import { quotaExhaustedUntil } from './learned-quota.ts';
import { openStream } from './open-stream.ts';
import { spliceModel } from './splice-model.ts';

export interface ProviderClientOptions {
  readonly transport: HttpTransport;
  readonly clock: Clock;
  /** Knows the providers' keys: their sentences pass through it before they travel. */
  readonly redactor: Pick<Redactor, 'text'>;
  /** Larger answers that are not streamed are broken ones. */
  readonly maxResponseBytes: number;
}

type Call = Parameters<ProviderClient['call']>[0];
type Outcome = ProviderResponse | ProviderStream | ProviderFailure;

const longestMessage = 300;
const charactersPerToken = 4;
/** What a refusal's body is waited for: it may bring a hint, but the next model is waiting for its turn. */
const refusalMs = 1_000;
const eventStream = 'text/event-stream; charset=utf-8';

/** An abort by the caller's signal is `canceled`, whatever its reason. */
export function createProviderClient(options: ProviderClientOptions): ProviderClient {
  return {
    call: (call) => (call.ask.isStream ? callStreamed(options, call) : callWhole(options, call)),
  };
}

async function callWhole(options: ProviderClientOptions, call: Call): Promise<Outcome> {
  const { idleMs, firstTokenMs } = call.limits;
  try {
    const answer = await options.transport.request(requestOf(call, call.signal, idleMs, firstTokenMs));
    if (!isGood(answer)) return await refused(options, answer, call.signal);
    return judged(options, call.ask, answer, await answer.bytes(options.maxResponseBytes));
  } catch (error) {
    return thrownFailure(options, error);
  }
}

/**
 * One timer for everything up to the first content: neither headers nor comments nor blank lines are what was asked
 * for. After it the stream watches its silences itself, and keeps the link.
 */
async function callStreamed(options: ProviderClientOptions, call: Call): Promise<Outcome> {
  const { firstTokenMs, idleMs } = call.limits;
  const link = linkSignals(call.signal);
  let isLate = false;
  const stop = options.clock.after(firstTokenMs, () => {
    isLate = true;
    link.abort(new HttpFailure('timeout', `${call.model.name}: no answer within ${firstTokenMs} ms.`));
  });
  let isCommitted = false;
  try {
    const request = requestOf(call, link.signal, Math.max(firstTokenMs, idleMs));
    const outcome = await streamOf(options, call, await options.transport.request(request), link);
    isCommitted = outcome.outcome === 'stream';
    return outcome;
  } catch (error) {
    const late = isLate && new HttpFailure('timeout', 'The answer did not come in time.', error, 'answer');
    return thrownFailure(options, late || error);
  } finally {
    stop();
    if (!isCommitted) link.dispose();
  }
}

function thrownFailure(options: ProviderClientOptions, error: unknown): ProviderFailure {
  const failure =
    error instanceof HttpFailure ? error : new HttpFailure('network', 'The call failed.', error);
  const exceeded = failure.wait && limitOf[failure.wait];
  return { ...failureOf(options, classifyFailure(failure)), exceeded };
}

const limitOf: Readonly<Record<HttpWait, keyof AttemptTimeouts>> = {
  connect: 'connectMs',
  headers: 'firstTokenMs',
  answer: 'firstTokenMs',
  body: 'idleMs',
};

async function streamOf(
  options: ProviderClientOptions,
  { ask, limits, model, signal }: Call,
  answer: HttpAnswer,
  link: LinkedSignal,
): Promise<Outcome> {
  if (!isGood(answer)) return refused(options, answer, signal);
  // Asked for a stream, some answer in one piece all the same: then that is the answer, as one event.
  if (contentType(answer).includes('json'))
    return judged(options, ask, answer, await answer.bytes(options.maxResponseBytes));
  const opened = await openStream(answer, ask.choices);
  if (opened.state === 'ended') return judged(options, ask, answer, opened.bytes);
  if (opened.state === 'failed') {
    const { failure } = opened;
    return 'errorBody' in failure
      ? spokenFailure(options, answer, failure.errorBody)
      : plainFailure(failure.failureClass, answer.status);
  }
  const { head, pieces, reader } = opened;
  const rest = new ProviderStreamBody({
    pieces,
    reader,
    link,
    clock: options.clock,
    idleMs: limits.idleMs,
    tokens: () => tokensOf(ask, reader.usage, reader.characters),
    model: model.name,
  });
  const type = contentType(answer);
  return {
    outcome: 'stream',
    status: answer.status,
    contentType: type.includes('event-stream') ? type : eventStream,
    head,
    rest,
    ended: rest.ended,
    quotaExhaustedUntil: quotaExhaustedUntil(answer.headers, options.clock.now()),
  };
}

function requestOf(
  { model, baseUrl, key, ask, limits }: Call,
  signal: AbortSignal,
  quietMs: number,
  answerMs = Number.POSITIVE_INFINITY,
): HttpRequest {
  const headers: Record<string, string> = { ...model.headers, 'content-type': 'application/json' };
  headers['accept'] = ask.isStream ? 'text/event-stream, application/json' : 'application/json';
  // Bytes are passed on as they come, so they must be plain.
  headers['accept-encoding'] = 'identity';
  if (key.secret !== null) headers['authorization'] = `Bearer ${key.secret}`;
  return {
    method: 'POST',
    url: baseUrl + (ask.operation === 'chat' ? '/chat/completions' : '/embeddings'),
    headers,
    body: spliceModel(ask, model.upstreamModel),
    signal,
    connectTimeoutMs: limits.connectMs,
    headersTimeoutMs: limits.firstTokenMs,
    bodyTimeoutMs: quietMs,
    answerTimeoutMs: answerMs,
  };
}

/** A whole body with status 200: an answer, an error in disguise, or nothing of use. */
function judged(
  options: ProviderClientOptions,
  ask: CompletionRequest,
  answer: HttpAnswer,
  body: Uint8Array,
): Outcome {
  const check = checkAnswer(ask, body);
  if (check.state === 'error') return spokenFailure(options, answer, check.body);
  if (check.state === 'bad') return plainFailure(check.failureClass, answer.status);
  return {
    outcome: 'answer',
    status: answer.status,
    contentType: ask.isStream ? eventStream : contentType(answer) || 'application/json',
    body: ask.isStream ? asStream(body) : body,
    tokens: tokensOf(ask, check.usage, check.characters),
    quotaExhaustedUntil: quotaExhaustedUntil(answer.headers, options.clock.now()),
  };
}

/** The status is what counts; a body that does not come soon, or never ends, takes nothing from it. */
async function refused(
  options: ProviderClientOptions,
  answer: HttpAnswer,
  callersSignal: AbortSignal,
): Promise<ProviderFailure> {
  const body = await answer.bytes(longestErrorBody, refusalMs).catch((error: unknown) => {
    if (error instanceof HttpFailure && !callersSignal.aborted) return new Uint8Array();
    throw error;
  });
  return spokenFailure(options, answer, textOf(body));
}

function spokenFailure(options: ProviderClientOptions, answer: HttpAnswer, body: string): ProviderFailure {
  const { status, headers } = answer;
  return failureOf(options, classifyAnswer({ status, headers, body }, options.clock.now()));
}

function failureOf({ redactor }: ProviderClientOptions, classified: ClassifiedFailure): ProviderFailure {
  const { failureClass, status, hint, sentence } = classified;
  // Redacted before it is cut: half a secret is not recognised.
  const clean = sentence === null ? null : redactor.text(sentence).replace(/\s+/g, ' ').trim();
  const message =
    clean !== null && clean.length > longestMessage ? `${clean.slice(0, longestMessage)}…` : clean;
  return { outcome: 'failure', failureClass, status, hint, message };
}

function plainFailure(failureClass: FailureClass, status: number): ProviderFailure {
  return { outcome: 'failure', failureClass, status, hint: undefined, message: null };
}

function tokensOf(ask: CompletionRequest, usage: TokenCounts | undefined, characters: number): Tokens {
  if (usage) return { ...usage, isEstimated: false };
  const completion = Math.ceil(characters / charactersPerToken);
  return { prompt: ask.estimatedPromptTokens, completion, isEstimated: true };
}

function isGood({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300;
}

function contentType({ headers }: HttpAnswer): string {
  return headers['content-type'] ?? '';
}
