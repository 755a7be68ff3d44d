import type { Clock, IdSource, Log } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import type { ReadingPatience } from '../ingest/read-chunk-patience.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { LanguageModel } from '../reading/types.ts';
import type { Embedders } from '../vectors/types.ts';
import type { EntityStore } from './entity-store.ts';

/** Told of every name that was resolved and every question to a model, for rates and alerts. */
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
  /** With those that read: a model that is away is not waited for name by name. Without it one of its own. */
  readonly patience?: Pick<ReadingPatience, 'ask'>;
}

/** Whether doubtful names can be put to a model at all: without one it is no degradation that none answers. */
export const canUseModel = ({ model, options }: Pick<ResolutionDeps, 'model' | 'options'>): boolean =>
  options.readWithModel && model.isConfigured();
