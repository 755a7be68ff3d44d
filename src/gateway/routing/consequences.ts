// What one call leaves behind: a row, usage, cooldowns, events.
import type { FailureClass } from '../failure-classes.ts';
import { failureRules } from '../failure-classes.ts';
import type {
  Attempt,
  GatewayRequest,
  Model,
  ProviderFailure,
  ProviderKey,
  QuotaGrant,
  Tokens,
} from '../ports.ts';
import { allKeys } from '../ports.ts';
import { endpointChanged } from '../providers/index.ts';
import type { RouterDeps } from './parts.ts';

/** One call that is or was under way. */
export interface Call {
  readonly request: GatewayRequest;
  readonly model: Model;
  readonly key: ProviderKey;
  readonly grant: QuotaGrant;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Monotonic. */
  readonly startedAt: number;
  /** The request asked this model before. */
  readonly isRepeated: boolean;
}

type Consequential = Pick<RouterDeps, 'clock' | 'models' | 'cooldowns' | 'attempts' | 'events' | 'policy'>;

/** Was the model removed, or does it lead elsewhere, since it was chosen? Then a call to it says nothing of what is there. */
export function isOutdated({ models }: Pick<Consequential, 'models'>, model: Model): boolean {
  const known = models();
  if (known.includes(model)) return false;
  const now = known.find(({ id }) => id === model.id);
  return !now || endpointChanged(model, now);
}

/** Writes the row of a call that is over; `tokens` where the provider worked. */
export function recordCall(
  parts: Consequential,
  { request, model, grant, at, isRepeated }: Call,
  outcome: Attempt['outcome'],
  status: number | null,
  durationMs: number,
  tokens?: Tokens,
): void {
  const { attempts, events } = parts;
  const { requestId, caller } = request;
  const isPast = isOutdated(parts, model);
  const promptTokens = tokens?.prompt ?? 0;
  const completionTokens = tokens?.completion ?? 0;
  const attempt: Attempt = {
    requestId,
    modelId: model.id,
    at,
    outcome,
    status,
    durationMs,
    promptTokens,
    completionTokens,
    caller,
    isRepeated,
  };
  attempts.record(isPast ? { ...attempt, isOutdated: true } : attempt);
  events.emit('gateway:attempt-finished', {
    requestId,
    model: model.name,
    outcome,
    status,
    durationMs,
    promptTokens,
    completionTokens,
    isOutdated: isPast,
  });
  if (tokens) grant.settle(promptTokens + completionTokens);
}

/** After these the provider has not begun to work: the call costs a request of the quota, and no tokens. */
const costsNoTokens: ReadonlySet<FailureClass> = new Set<FailureClass>([
  'rate-limit',
  'authentication',
  'payment',
  'validation',
  'context-too-long',
  'not-found',
]);

/** Writes the row of a call that failed, and cools down what its class says. */
export function recordFailure(
  parts: Consequential,
  call: Call,
  { failureClass, status, hint }: Pick<ProviderFailure, 'failureClass' | 'status' | 'hint'>,
): void {
  recordCall(parts, call, failureClass, status, parts.clock.monotonic() - call.startedAt);
  if (costsNoTokens.has(failureClass)) call.grant.settle(0);
  coolDown(parts, call, failureClass, hint);
}

/** By the table of failure classes; local models only by hand, and what was replaced meanwhile not at all. */
export function coolDown(
  parts: Consequential,
  { model, key }: Call,
  failureClass: FailureClass,
  hint: ProviderFailure['hint'],
): void {
  const { clock, cooldowns, events, policy } = parts;
  const rule = failureRules[failureClass];
  const ownMs = rule.cooldown === 'default' ? policy.defaultCooldownMs : rule.cooldown * 1_000;
  const obeyed = rule.obeysHint ? hint : undefined;
  const forMs = model.isLocal ? 0 : (obeyed?.retryAfterMs ?? ownMs);
  const source = obeyed?.source ?? 'default';
  if (failureClass === 'rate-limit')
    events.emit('gateway:rate-limit-detected', {
      model: model.name,
      provider: model.provider,
      retryAfterSeconds: Math.ceil(forMs / 1_000),
      source,
    });
  if (forMs <= 0 || isOutdated(parts, model)) return;
  const now = clock.now();
  const keyId = rule.cools === 'model' ? allKeys : key.id;
  cooldowns.extend({
    modelId: model.id,
    keyId,
    until: now + forMs,
    cause: failureClass,
    source,
    reason: null,
    setAt: now,
  });
}

/** The answer was good, and said that the key has nothing left. */
export function coolDownEmptyKey(
  parts: Pick<Consequential, 'clock' | 'models' | 'cooldowns'>,
  { model, key }: Call,
  { at, source }: { readonly at: number; readonly source: string },
): void {
  const { clock, cooldowns } = parts;
  const now = clock.now();
  if (model.isLocal || at <= now || isOutdated(parts, model)) return;
  cooldowns.extend({
    modelId: model.id,
    keyId: key.id,
    until: at,
    cause: 'quota',
    source,
    reason: null,
    setAt: now,
  });
}
