import type { Clock, IdSource, Log } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import type { CircuitBreaker } from '../../resilience/index.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { LanguageModel } from '../models/structured-output.ts';
import type { Embedders } from '../vectors/embedder.ts';
import type { EntityStore } from './entity-store.ts';

/** Counts resolved names and confirmations, for metrics and alerts. */
export interface ResolutionMetrics {
  resolved(outcome: 'ok' | 'degraded'): void;
  asked(outcome: 'answered' | 'failed'): void;
}

export interface ResolutionDeps {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Log;
  readonly ledger: LedgerRecorder;
  readonly entities: EntityStore;
  readonly embedders: Embedders;
  readonly model: LanguageModel;
  readonly options: Pick<
    KnowledgeOptions,
    | 'candidatesTimeoutMs'
    | 'embeddingTimeoutMs'
    | 'confirmationTimeoutMs'
    | 'readWithModel'
    | 'cooldownSeconds'
  >;
  readonly watch?: ResolutionMetrics;
  /** Shared with reading, so that a model that is down is not tried for every name. Default: its own. */
  readonly breaker?: Pick<CircuitBreaker, 'execute'>;
}

/** Whether uncertain names can be confirmed. Without a model, unconfirmed names are not a degradation. */
export const canUseModel = ({ model, options }: Pick<ResolutionDeps, 'model' | 'options'>): boolean =>
  options.readWithModel && model.isConfigured();
