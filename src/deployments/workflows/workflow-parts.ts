// What workflows are made of.
import type { IdSource } from '../../core/index.ts';
import type { DocumentReader, LanguageModel, SchemaChecker } from '../ports.ts';

export interface WorkflowParts {
  readonly model: LanguageModel;
  readonly documents: DocumentReader;
  readonly schemas: SchemaChecker;
  /** Each question to a model has an id of its own. */
  readonly ids: IdSource;
}
