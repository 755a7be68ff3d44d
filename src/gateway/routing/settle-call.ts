// The consequences of one call: attempt, usage, quota, cooldowns, events, backoff.
import type { Clock, Emitter } from '../../core/index.ts';
import type { FailureClass, KeyRejection } from '../errors.ts';
import { failureRules, isKeyRejection, isTransientModelFault } from '../errors.ts';
import type { GatewayEvents } from '../events.ts';
import { endpointChanged } from '../models/model-definition.ts';
import type { QuotaGrant } from '../quotas/provider-quotas.ts';
import type { AttemptLog } from '../state/attempt-log.ts';
import { isReliabilityOutcome } from '../state/attempt-log.ts';
import type { Cooldowns, FailureBackoff } from '../state/availability.ts';
import type {
  Attempt,
  CompletionOptions,
  Cooldown,
  Model,
  ProviderFailure,
  ProviderKey,
  ProviderResponse,
  ProviderStream,
  TokenUsage,
} from '../types.ts';
import { allKeys } from '../types.ts';
import type { CandidateState, RoutingPolicy } from './routing-run.ts';

export interface SettleDeps {
  readonly clock: Clock;
  readonly models: () => readonly Model[];
  readonly cooldowns: Pick<Cooldowns, 'extend'>;
  readonly backoff: FailureBackoff;
  readonly attempts: Pick<AttemptLog, 'record'>;
  readonly events: Emitter<GatewayEvents>;
  /** A provider does not accept the key of a model. */
  readonly onKeyRejected?: ((model: Model, cause: KeyRejection) => void) | undefined;
  readonly policy: RoutingPolicy;
}

/** One call in progress or ended. */
export interface Call {
  readonly options: CompletionOptions;
  readonly state: CandidateState;
  readonly model: Model;
  readonly key: ProviderKey;
  readonly grant: QuotaGrant;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Monotonic. */
  readonly startedAt: number;
}

/** Whether the model was removed or its endpoint changed since it was chosen, so that the call is irrelevant for it. */
export function isStale({ models }: Pick<SettleDeps, 'models'>, model: Model): boolean {
  const current = models();
  if (current.includes(model)) return false;
  const now = current.find(({ id }) => id === model.id);
  return !now || endpointChanged(model, now);
}

export function settleFailure(
  deps: SettleDeps,
  call: Call,
  { failureClass, status, retryHint }: Pick<ProviderFailure, 'failureClass' | 'status' | 'retryHint'>,
): void {
  recordAttempt(deps, call, failureClass, status, deps.clock.monotonic() - call.startedAt);
  if (costsNoTokens.has(failureClass)) call.grant.settle(0);
  coolDown(deps, call, failureClass, retryHint);
}

/** A stream is settled at its end: one that is interrupted is a failure like any other. */
export function settleSuccess(
  deps: SettleDeps,
  call: Call,
  response: ProviderResponse | ProviderStream,
  durationMs: number,
): void {
  const { quotaExhaustedUntil: exhausted } = response;
  if (exhausted) extendCooldown(deps, call, call.key.id, exhausted.at, 'quota', exhausted.source);
  if (response.kind === 'stream') {
    void settleStream(deps, call, response, durationMs);
    return;
  }
  recordAttempt(deps, call, 'success', response.status, durationMs, response.tokens);
  if (!isStale(deps, call.model)) deps.backoff.succeeded(call.model.id);
}

async function settleStream(
  deps: SettleDeps,
  call: Call,
  { status, ended }: ProviderStream,
  firstContentMs: number,
): Promise<void> {
  const { failureClass, tokens, streamMs, retryHint } = await ended;
  recordAttempt(deps, call, failureClass ?? 'success', status, firstContentMs + streamMs, tokens);
  if (isStale(deps, call.model)) return;
  if (failureClass === null) return deps.backoff.succeeded(call.model.id);
  coolDown(deps, call, failureClass, retryHint);
  if (isTransientModelFault(failureClass)) deps.backoff.failed(call.model.id);
}

/** `tokens` when the provider has processed the request. */
function recordAttempt(
  deps: SettleDeps,
  { options, state, model, grant, at }: Call,
  outcome: Attempt['outcome'],
  status: number | null,
  durationMs: number,
  tokens?: TokenUsage,
): void {
  const { requestId, caller } = options;
  const isModelStale = isStale(deps, model);
  const promptTokens = tokens?.prompt ?? 0;
  const completionTokens = tokens?.completion ?? 0;
  const isCounted = isReliabilityOutcome({ outcome, isStale: isModelStale });
  const attempt = deps.attempts.record({
    requestId,
    modelId: model.id,
    at,
    outcome,
    status,
    durationMs,
    promptTokens,
    completionTokens,
    caller,
    ...(isCounted && state.countedFailure && { supersedes: state.countedFailure }),
    ...(isModelStale && { isStale: true }),
  });
  if (isCounted) state.countedFailure = outcome === 'success' ? undefined : attempt;
  deps.events.emit('gateway:attempt-finished', {
    requestId,
    model: model.name,
    outcome,
    status,
    durationMs,
    promptTokens,
    completionTokens,
    isStale: isModelStale,
  });
  if (tokens) grant.settle(promptTokens + completionTokens);
  // The rejected key of a stale model is not the one the model has now.
  if (isKeyRejection(outcome) && !isModelStale) deps.onKeyRejected?.(model, outcome);
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

/** By the rules of the failure class. */
function coolDown(
  deps: SettleDeps,
  call: Call,
  failureClass: FailureClass,
  retryHint: ProviderFailure['retryHint'],
): void {
  const { clock, events, policy } = deps;
  const { model, key } = call;
  const rule = failureRules[failureClass];
  const defaultMs = rule.cooldown === 'default' ? policy.defaultCooldownMs : rule.cooldown * 1_000;
  const hint = rule.obeysHint ? retryHint : undefined;
  const cooldownMs = model.isLocal ? 0 : (hint?.retryAfterMs ?? defaultMs);
  const source = hint?.source ?? 'default';
  if (failureClass === 'rate-limit')
    events.emit('gateway:rate-limit-detected', {
      model: model.name,
      provider: model.provider,
      retryAfterSeconds: Math.ceil(cooldownMs / 1_000),
      source,
    });
  const keyId = rule.cools === 'model' ? allKeys : key.id;
  extendCooldown(deps, call, keyId, clock.now() + cooldownMs, failureClass, source);
}

/** Local models get no automatic cooldowns; stale ones none at all. */
function extendCooldown(
  deps: SettleDeps,
  { model }: Call,
  keyId: string,
  until: number,
  cause: Cooldown['cause'],
  source: string,
): void {
  const setAt = deps.clock.now();
  if (model.isLocal || until <= setAt || isStale(deps, model)) return;
  deps.cooldowns.extend({ modelId: model.id, keyId, until, cause, source, reason: null, setAt });
}
