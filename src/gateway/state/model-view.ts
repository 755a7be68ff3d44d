// A model as the founding document shows it.
import type { ModelView } from '../desk-ports.ts';
import type { Cooldowns, Model, Cooldown, Score } from '../ports.ts';
import { allKeys } from '../ports.ts';
import { successRate } from './score.ts';

export interface ModelViewInput {
  readonly model: Model;
  /** Over the window that was asked for. */
  readonly score: Score;
  /** Ids of its keys; empty when it has none. */
  readonly keyIds: readonly string[];
  readonly isConfigured: boolean;
  readonly keySource: string | null;
  readonly needs: string | null;
  /** Those of the model that are not over. */
  readonly cooldowns: readonly Cooldown[];
  /** Until when none of its keys may be used, epoch milliseconds; null: it may be used now. See `availableAt`. */
  readonly availableAt: number | null;
  readonly includeRecent: boolean;
}

/** When the soonest of the keys may be used again; null: now. Without keys, only what holds for all of them counts. */
export function availableAt(
  cooldowns: Pick<Cooldowns, 'of'>,
  modelId: number,
  keyIds: readonly string[],
): number | null {
  let soonest = Number.POSITIVE_INFINITY;
  for (const keyId of keyIds.length === 0 ? [allKeys] : keyIds) {
    const cooldown = cooldowns.of(modelId, keyId);
    if (!cooldown) return null;
    soonest = Math.min(soonest, cooldown.until);
  }
  return soonest;
}

export function modelView(input: ModelViewInput): ModelView {
  const { model, score, includeRecent } = input;
  const { longTerm, recent } = score;
  return {
    id: model.id,
    name: model.name,
    provider: model.provider,
    apiEndpoint: model.baseUrl + (model.capabilities.embeddings ? '/embeddings' : '/chat/completions'),
    upstreamModel: model.upstreamModel,
    envVar: model.envVar,
    isLocal: model.isLocal,
    origin: model.origin,
    capabilities: model.capabilities,
    quotas: model.quotas,
    isActive: model.isActive,
    isConfigured: input.isConfigured,
    keyCount: input.keyIds.length,
    keySource: input.keySource,
    needs: input.needs,
    availableAt: input.availableAt === null ? null : new Date(input.availableAt),
    cooldowns: input.cooldowns,
    successCount: longTerm.successes,
    failureCount: longTerm.requests - longTerm.successes,
    requestCount: longTerm.requests,
    successRate: rounded(successRate(longTerm)),
    averageResponseTime: rounded(longTerm.averageSeconds),
    reliabilityScore: rounded(score.reliabilityScore),
    recentSuccessRate: includeRecent && recent.requests > 0 ? rounded(successRate(recent)) : null,
    recentRequestCount: includeRecent ? recent.requests : null,
    recentReliabilityScore:
      includeRecent && score.recentReliabilityScore !== null ? rounded(score.recentReliabilityScore) : null,
    effectiveReliabilityScore: rounded(score.effectiveScore),
    decisionReason: score.decisionReason,
  };
}

const rounded = (value: number): number => Math.round(value * 10_000) / 10_000;
