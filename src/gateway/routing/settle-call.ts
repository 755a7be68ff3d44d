// The consequences of one call: attempt, usage, quota, cooldowns, events, backoff.
import type { Clock, Emitter } from '../../core/index.ts';
import type { FailureClass, KeyRejection } from '../errors.ts';
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
  Cooldown,
  Model,
  ProviderFailure,
  ProviderKey,
  ProviderResponse,
  ProviderStream,
  TokenUsage,
} from '../types.ts';
import { allKeys } from '../types.ts';
import type { CandidateState, RoutingPolicy } from './routed-request.ts';

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

interface CallResult {
  readonly outcome: Attempt['outcome'];
  readonly status: number | null;
  readonly durationMs: number;
  /** When the provider has processed the request. */
  readonly tokens?: TokenUsage;
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
  else settle(deps, call, { outcome: 'success', status, durationMs, tokens: response.tokens });
}

async function settleStream(
  deps: SettleDeps,
  call: Call,
  { status, ended }: ProviderStream,
  firstContentMs: number,
): Promise<void> {
  const { failureClass, tokens, streamMs, retryHint } = await ended;
  const outcome = failureClass ?? 'success';
  settle(deps, call, { outcome, status, durationMs: firstContentMs + streamMs, tokens, retryHint });
  if (failureClass !== null) countFailure(deps, call.model, failureClass);
}

/** A request counts once per model in its backoff, by its last failure there. */
export function countFailure(deps: SettleDeps, model: Model, failureClass: FailureClass): void {
  if (isTransientModelFault(failureClass) && !isStale(deps.models(), model)) deps.backoff.failed(model.id);
}

function settle(deps: SettleDeps, call: Call, result: CallResult): void {
  const { model } = call;
  const { outcome, tokens } = result;
  const isModelStale = isStale(deps.models(), model);
  recordAttempt(deps, call, result, isModelStale);
  if (tokens) call.grant.settle(tokens.prompt + tokens.completion);
  if (outcome !== 'success') coolDown(deps, call, outcome, result.retryHint, isModelStale);
  // Results of a replaced model do not count for the model that has its id now.
  else if (!isModelStale) deps.backoff.succeeded(model.id);
  if (isKeyRejection(outcome) && !isModelStale) deps.onKeyRejected?.(model, outcome);
}

function recordAttempt(
  deps: SettleDeps,
  { options: { requestId, caller }, state, model, at }: Call,
  { outcome, status, durationMs, tokens }: CallResult,
  isModelStale: boolean,
): void {
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
  { model, key }: Call,
  failureClass: FailureClass,
  retryHint: ProviderFailure['retryHint'],
  isModelStale: boolean,
): void {
  const { clock, events, policy } = deps;
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
  if (!isModelStale) extendCooldown(deps, model, keyId, clock.now() + cooldownMs, failureClass, source);
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
