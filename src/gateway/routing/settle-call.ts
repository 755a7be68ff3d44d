// The consequences of one call: attempt, usage, quota, cooldowns, events, backoff.
import type { Clock, Emitter } from '../../core/index.ts';
import { HeadworksError } from '../../core/index.ts';
import type { FailureClass, FailureRule, KeyRejection } from '../errors.ts';
import { failureRules, isKeyRejection, isTransientModelFault } from '../errors.ts';
import type { GatewayEvents } from '../events.ts';
import { isStale } from '../models/model-definition.ts';
import type { QuotaGrant } from '../quotas/provider-quotas.ts';
import type { AttemptLog } from '../state/attempt-log.ts';
import { isReliabilityOutcome } from '../state/attempt-log.ts';
import type { Cooldowns, FailureBackoff } from '../state/availability.ts';
import type {
  Attempt,
  CompletionOptions,
  CompletionRequest,
  Cooldown,
  Model,
  ProviderFailure,
  ProviderKey,
  ProviderResponse,
  ProviderStream,
  TokenUsage,
} from '../types.ts';
import { allKeys } from '../types.ts';
import { costOf } from './cost.ts';
import type { CandidateState, RoutedRequest, RoutingPolicy } from './routed-request.ts';

export interface SettleDeps {
  readonly clock: Clock;
  readonly models: () => readonly Model[];
  readonly cooldowns: Pick<Cooldowns, 'extend'>;
  readonly backoff: FailureBackoff;
  readonly attempts: Pick<AttemptLog, 'record' | 'recordFailedRequest'>;
  readonly events: Emitter<GatewayEvents>;
  /** A provider does not accept the key of a model. */
  readonly onKeyRejected?: ((model: Model, cause: KeyRejection) => void) | undefined;
  /** Called for every call that has ended, in the async context of its request. Absent unless traces are sent. */
  readonly trace?: ((call: Call, result: CallResult) => void) | undefined;
  readonly policy: RoutingPolicy;
}

/** One call in progress or ended. */
export interface Call {
  readonly routed: RoutedRequest;
  readonly state: CandidateState;
  readonly model: Model;
  readonly key: ProviderKey;
  readonly grant: QuotaGrant;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Monotonic. */
  readonly startedAt: number;
  /** 1 for the first call of the request. */
  readonly number: number;
}

export interface CallResult {
  readonly outcome: Attempt['outcome'];
  readonly status: number | null;
  readonly durationMs: number;
  /** Of a stream that has started. */
  readonly firstTokenMs?: number | null;
  /** When the provider has processed the request. */
  readonly tokens?: TokenUsage;
  /** The caller gets this response: no other model follows. */
  readonly endsRequest?: boolean;
  readonly retryHint?: ProviderFailure['retryHint'];
}

export function settleFailure(deps: SettleDeps, call: Call, failure: ProviderFailure): void {
  const { failureClass: outcome, status, retryHint } = failure;
  const durationMs = deps.clock.monotonic() - call.startedAt;
  settle(deps, call, { outcome, status, durationMs, retryHint });
  if (costsNoTokens.has(outcome)) call.grant.settle(0);
}

/** A stream is settled at its end: one that is interrupted is a failure like any other. */
export function settleSuccess(
  deps: SettleDeps,
  call: Call,
  response: ProviderResponse | ProviderStream,
  durationMs: number,
): void {
  const { status, quotaExhaustedUntil: exhausted } = response;
  if (exhausted && !isStale(deps.models(), call.model))
    extendCooldown(deps, call.model, call.key.id, exhausted.at, 'quota', exhausted.source);
  if (response.kind === 'stream') void settleStream(deps, call, response, durationMs);
  else
    settle(deps, call, {
      outcome: 'success',
      status,
      durationMs,
      tokens: response.tokens,
      endsRequest: true,
    });
}

async function settleStream(
  deps: SettleDeps,
  call: Call,
  { status, ended }: ProviderStream,
  firstContentMs: number,
): Promise<void> {
  const { failureClass, tokens, streamMs, retryHint } = await ended;
  const outcome = failureClass ?? 'success';
  const durationMs = firstContentMs + streamMs;
  settle(deps, call, {
    outcome,
    status,
    durationMs,
    firstTokenMs: firstContentMs,
    tokens,
    endsRequest: true,
    retryHint,
  });
  if (failureClass !== null) countFailure(deps, call.model, failureClass);
}

/** A request counts once per model in its backoff, by its last failure there. */
export function countFailure(deps: SettleDeps, model: Model, failureClass: FailureClass): void {
  if (isTransientModelFault(failureClass) && !isStale(deps.models(), model)) deps.backoff.failed(model.id);
}

function settle(deps: SettleDeps, call: Call, result: CallResult): void {
  const { model, routed } = call;
  const { outcome, tokens } = result;
  const isModelStale = isStale(deps.models(), model);
  const costUsd = costOf(model.price, tokens, routed.request);
  if (outcome !== 'success' && failureRules[outcome].isDisputed)
    routed.atEnd((isCompleted) => settleRejection(deps, call, result, isCompleted));
  else recordAttempt(deps, call, result, costUsd, isModelStale);
  reportAttempt(deps, call, result, costUsd, isModelStale);
  deps.trace?.(call, result);
  if (tokens) call.grant.settle(tokens.prompt + tokens.completion);
  if (outcome !== 'success') coolDown(deps, call, outcome, result.retryHint, isModelStale);
  // Results of a replaced model do not count for the model that has its id now.
  else if (!isModelStale) deps.backoff.succeeded(model.id, call.key.id);
  if (isKeyRejection(outcome) && !isModelStale) deps.onKeyRejected?.(model, outcome);
}

/** A rejection is recorded when it is known whose fault it was: the model's, if another one completes the request. */
function settleRejection(deps: SettleDeps, call: Call, result: CallResult, isCompleted: boolean): void {
  const { model } = call;
  const isModelStale = isStale(deps.models(), model);
  const isModelsFault = isCompleted && !isModelStale;
  recordAttempt(deps, call, result, null, isModelStale, isModelsFault);
  const cooldownMs = isModelsFault ? deps.backoff.rejected(model.id) : 0;
  if (cooldownMs > 0 && result.outcome !== 'success')
    extendCooldown(deps, model, allKeys, deps.clock.now() + cooldownMs, result.outcome, 'rejections');
}

function recordAttempt(
  deps: SettleDeps,
  { routed, state, model, at, startedAt, number }: Call,
  { outcome, status, durationMs, firstTokenMs = null, tokens, endsRequest = false }: CallResult,
  costUsd: number | null,
  isModelStale: boolean,
  isModelsFault = false,
): void {
  const { request, options } = routed;
  const isCounted = isReliabilityOutcome({ outcome, isStale: isModelStale, isModelsFault });
  const attempt = deps.attempts.record({
    requestId: options.requestId,
    modelId: model.id,
    at,
    outcome,
    status,
    durationMs,
    firstTokenMs,
    promptTokens: tokens?.prompt ?? 0,
    completionTokens: tokens?.completion ?? 0,
    cacheReadTokens: tokens?.cacheRead ?? 0,
    cacheWriteTokens: tokens?.cacheWrite ?? 0,
    costUsd,
    caller: options.caller,
    api: request.api ?? request.operation,
    requestedModel: request.model,
    callNumber: number,
    waitedMs: startedAt - routed.startedAt,
    endsRequest,
    supersedes: isCounted ? state.countedFailure : undefined,
    isModelsFault: isModelsFault || undefined,
    isStale: isModelStale || undefined,
  });
  if (isCounted) state.countedFailure = outcome === 'success' ? undefined : attempt;
}

/** The end of a request that no model completed. `routed` is undefined when no model was tried. */
export function recordFailedRequest(
  { attempts, clock }: Pick<SettleDeps, 'attempts' | 'clock'>,
  request: CompletionRequest,
  { requestId, caller }: CompletionOptions,
  routed: RoutedRequest | undefined,
  error: unknown,
): void {
  // Counting tokens falls back to an estimate: nothing failed for the caller.
  if (request.operation === 'messages/count_tokens') return;
  const durationMs = routed ? clock.monotonic() - routed.startedAt : 0;
  const code = error instanceof HeadworksError ? error.code : 'INTERNAL';
  attempts.recordFailedRequest({
    requestId,
    at: clock.now() - durationMs,
    durationMs,
    errorCode: code === 'CANCELED' ? 'canceled' : code,
    calls: routed?.calls ?? 0,
    caller,
    api: request.api ?? request.operation,
    requestedModel: request.model,
  });
}

function reportAttempt(
  { events }: SettleDeps,
  { routed, model }: Call,
  { outcome, status, durationMs, tokens }: CallResult,
  costUsd: number | null,
  isModelStale: boolean,
): void {
  events.emit('gateway:attempt-finished', {
    requestId: routed.options.requestId,
    model: model.name,
    outcome,
    status,
    durationMs,
    promptTokens: tokens?.prompt ?? 0,
    completionTokens: tokens?.completion ?? 0,
    costUsd,
    isStale: isModelStale,
  });
}

/** After these the provider has not processed the request: the call costs a request of the quota and no tokens. */
const costsNoTokens: ReadonlySet<FailureClass> = new Set<FailureClass>([
  'rate-limit',
  'authentication',
  'payment',
  'validation',
  'context-too-long',
  'not-found',
]);

/** Sets cooldowns by the rules of the failure class. */
function coolDown(
  deps: SettleDeps,
  call: Call,
  failureClass: FailureClass,
  retryHint: ProviderFailure['retryHint'],
  isModelStale: boolean,
): void {
  const { clock, events } = deps;
  const { model, key } = call;
  const rule = failureRules[failureClass];
  const hint = rule.obeysHint ? retryHint : undefined;
  const isIgnored = model.isLocal || isModelStale;
  const cooldownMs = isIgnored ? 0 : (hint?.retryAfterMs ?? defaultCooldownMs(deps, call, rule));
  const source = hint?.source ?? 'default';
  if (failureClass === 'rate-limit')
    events.emit('gateway:rate-limit-detected', {
      model: model.name,
      provider: model.provider,
      retryAfterSeconds: Math.ceil(cooldownMs / 1_000),
      source,
    });
  const keyId = rule.cools === 'model' ? allKeys : key.id;
  extendCooldown(deps, model, keyId, clock.now() + cooldownMs, failureClass, source);
}

function defaultCooldownMs({ backoff }: SettleDeps, { model, key }: Call, { cooldown }: FailureRule): number {
  return cooldown === 'default' ? backoff.rateLimited(model.id, key.id) : cooldown * 1_000;
}

/** Local models get no automatic cooldowns. */
function extendCooldown(
  { clock, cooldowns }: SettleDeps,
  model: Model,
  keyId: string,
  until: number,
  cause: Cooldown['cause'],
  source: string,
): void {
  const setAt = clock.now();
  if (model.isLocal || until <= setAt) return;
  cooldowns.extend({ modelId: model.id, keyId, until, cause, source, reason: null, setAt });
}
