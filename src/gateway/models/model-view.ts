// A model as operators see it: the founding document's fields, its state, its cooldowns and how it works now.
import type { Cooldowns } from '../state/availability.ts';
import type { Health } from '../state/model-health.ts';
import { successRate } from '../state/scores.ts';
import type { Cooldown, Model, Score } from '../types.ts';
import { allKeys } from '../types.ts';

export interface KeyState {
  /** Its key is set, or it needs none. */
  readonly isConfigured: boolean;
  readonly keyCount: number;
  /** The variable in which its keys were found; null when it has none or needs none. */
  readonly keySource: string | null;
  /** The variables to set before it can be called; null when it is configured. */
  readonly needs: string | null;
  /** When the first of its keys is available again; null: now. */
  readonly availableAt: Date | null;
  /** Cooldowns of its keys; an exhausted quota by local counting is among them with cause `quota`. */
  readonly cooldowns: readonly Cooldown[];
}

/** When the first of the keys is available again, epoch milliseconds; null: now. Without keys, by `allKeys` alone. */
export function availableAt(
  cooldowns: Pick<Cooldowns, 'of'>,
  modelId: number,
  keyIds: readonly string[],
): number | null {
  let first = Number.POSITIVE_INFINITY;
  for (const keyId of keyIds.length === 0 ? [allKeys] : keyIds) {
    const cooldown = cooldowns.of(modelId, keyId);
    if (!cooldown) return null;
    first = Math.min(first, cooldown.until);
  }
  return first;
}

export type ModelView = ReturnType<typeof modelView>;

/** A model with the founding document's fields and its current state. Rates and scores are 0 to 1. */
export function modelView(
  model: Model,
  score: Score,
  keyState: KeyState,
  health: Health & { readonly backoffUntil: Date | null },
  includeRecent: boolean,
) {
  const { longTerm, recent } = score;
  const hasRecent = includeRecent && recent.requests > 0;
  return {
    ...model,
    ...keyState,
    state: stateOf(model, keyState, health),
    /** Health over all processes and the last 15 minutes. */
    health: {
      isFailing: health.isFailing,
      requestCount: health.requests,
      successRate: health.requests === 0 ? null : rounded(successRate(health)),
      lastFailure: health.lastFailure,
      backoffUntil: health.backoffUntil,
    },
    cooldowns: keyState.cooldowns.map((each) => ({ ...each, until: new Date(each.until) })),
    apiEndpoint: model.baseUrl + (model.capabilities.embeddings ? '/embeddings' : '/chat/completions'),
    successCount: longTerm.successes,
    failureCount: longTerm.requests - longTerm.successes,
    requestCount: longTerm.requests,
    successRate: rounded(successRate(longTerm)),
    /** Seconds, of successful attempts. */
    averageResponseTime: rounded(longTerm.averageSeconds),
    reliabilityScore: rounded(score.reliabilityScore),
    recentSuccessRate: hasRecent ? rounded(successRate(recent)) : null,
    recentRequestCount: includeRecent ? recent.requests : null,
    recentReliabilityScore: hasRecent ? rounded(score.recentReliabilityScore ?? 0) : null,
    effectiveReliabilityScore: rounded(score.effectiveScore),
    decisionReason: score.decisionReason,
  };
}

/** The first that applies is the state of a model. */
export const modelStates = [
  'retired',
  'disabled',
  'no-key',
  'cooling-down',
  'quota-exhausted',
  'failing',
  'available',
] as const;
export type ModelState = (typeof modelStates)[number];

function stateOf(
  { isActive, retiredAt }: Model,
  { isConfigured, availableAt: at, cooldowns }: KeyState,
  { isFailing }: Health,
): ModelState {
  if (retiredAt !== null) return 'retired';
  if (!isActive) return 'disabled';
  if (!isConfigured) return 'no-key';
  if (at !== null)
    return cooldowns.every(({ cause }) => cause === 'quota') ? 'quota-exhausted' : 'cooling-down';
  return isFailing ? 'failing' : 'available';
}

export const dateOrNull = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));

const rounded = (value: number): number => Math.round(value * 10_000) / 10_000;
