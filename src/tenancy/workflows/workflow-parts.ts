// What workflows are made of.
import type { IdSource } from '../../core/index.ts';
import type {
  DocumentReader,
  LanguageModel,
  SchemaChecker,
  UploadedFile,
  WorkflowProblem,
} from '../ports.ts';
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

/** Which spaces an organization has. */
export interface SpaceCheck {
  /** Words that follow the name of the option: why this one cannot be used; null when it can. Fails as knowledge does. */
  spaceProblem(organizationId: string, space: string): Promise<string | null>;
}

/** Knowledge, as a workflow asks it. */
export interface KnowledgeSearch extends SpaceCheck {
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
export interface DocumentIntake extends SpaceCheck {
  /** Why a file cannot be taken in, judged by its first bytes: a picture, a program, another kind than it claims. */
  problemOf(file: UploadedFile): string | null;
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
    /** How far it is read now. */
    readonly state: 'processing' | 'complete' | 'partial';
    /** Chunks that rules read because a model that was asked failed, as far as is known now. */
    readonly stoodIn: number;
  }>;
}
