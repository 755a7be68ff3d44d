// What workflows are made of.
import type { IdSource } from '../../core/index.ts';
import type { DocumentReader, LanguageModel, SchemaChecker, WorkflowProblem } from '../ports.ts';
import type { Fields } from './check-fields.ts';

export interface WorkflowParts {
  readonly model: LanguageModel;
  readonly documents: DocumentReader;
  readonly schemas: SchemaChecker;
  /** Each question to a model has an id of its own. */
  readonly ids: IdSource;
  /** Absent where nothing keeps knowledge. */
  readonly ingest?: DocumentIntake;
  readonly search?: KnowledgeSearch;
}

/** Knowledge, as a workflow asks it. */
export interface KnowledgeSearch {
  /** What is wrong with filters, all at once: which words may stand there is knowledge's business. */
  filterProblems(fields: {
    readonly filters: unknown;
    readonly graph_filters: unknown;
  }): readonly WorkflowProblem[];
  /** In the organization's own space of this name; null: its default one. Fails as knowledge does. */
  search(wish: {
    readonly organizationId: string;
    readonly space: string | null;
    readonly query: string;
    /** Checked, and named as in a request; what is not said has knowledge's defaults. */
    readonly wish: Fields;
    readonly signal: AbortSignal;
  }): Promise<{ readonly answer: unknown; readonly warning: string | null }>;
}

/** Knowledge, as a workflow brings documents to it. */
export interface DocumentIntake {
  /** Into the organization's own space of this name; null: its default one. Fails as knowledge does. */
  take(wish: {
    readonly organizationId: string;
    readonly space: string | null;
    readonly document:
      | { readonly text: string }
      | { readonly name: string; readonly mediaType: string; readonly bytes: Uint8Array };
    readonly signal: AbortSignal;
  }): Promise<{
    readonly outcome: string;
    readonly artifactUid: string;
    readonly revisionId: string;
    readonly jobId: string | null;
    readonly chunks: number;
  }>;
}
