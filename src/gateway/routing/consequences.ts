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
import { everyKey } from '../ports.ts';
import type { GatewayParts } from './parts.ts';

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

type Consequential = Pick<GatewayParts, 'clock' | 'cooldowns' | 'attempts' | 'events' | 'policy'>;

/** Writes the row of a call that is over; `tokens` where the provider worked. */
export function recordCall(
  { attempts, events }: Consequential,
  { request, model, grant, at, isRepeated }: Call,
  outcome: Attempt['outcome'],
  status: number | null,
  durationMs: number,
  tokens?: Tokens,
): void {
  const { requestId, caller } = request;
  const promptTokens = tokens?.prompt ?? 0;
  const completionTokens = tokens?.completion ?? 0;
  attempts.record({
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
  });
  events.emit('gateway:attempt-finished', {
    requestId,
    model: model.name,
    outcome,
    status,
    durationMs,
    promptTokens,
    completionTokens,
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

/** Writes the row of a call that failed as `recorded`, and cools down what its class says. */
export function recordFailure(
  parts: Consequential,
  call: Call,
  { failureClass, status, hint }: Pick<ProviderFailure, 'failureClass' | 'status' | 'hint'>,
  recorded: FailureClass = failureClass,
): void {
  recordCall(parts, call, recorded, status, parts.clock.monotonic() - call.startedAt);
  if (costsNoTokens.has(failureClass)) call.grant.settle(0);
  coolDown(parts, call, failureClass, hint);
}

/** By the table of failure classes; local models only by hand. */
export function coolDown(
  { clock, cooldowns, events, policy }: Consequential,
  { model, key }: Call,
  failureClass: FailureClass,
  hint: ProviderFailure['hint'],
): void {
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
  if (forMs <= 0) return;
  const now = clock.now();
  const keyId = rule.cools === 'model' ? everyKey : key.id;
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
  { clock, cooldowns }: Pick<Consequential, 'clock' | 'cooldowns'>,
  { model, key }: Call,
  { at, source }: { readonly at: number; readonly source: string },
): void {
  const now = clock.now();
  if (model.isLocal || at <= now) return;
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
