// All workflows, with the threads that read documents and validate JSON schemas.
import type { Clock } from '../../core/index.ts';
import type { DocumentsOptions } from '../../platform/documents/documents.ts';
import { Documents } from '../../platform/documents/documents.ts';
import type { SchemaChecksOptions } from '../../platform/json-schema/schema-checks.ts';
import { SchemaChecks } from '../../platform/json-schema/schema-checks.ts';
import { ingestWorkflow, searchWorkflow } from './knowledge.ts';
import { promptWorkflow } from './prompt.ts';
import { structureWorkflow } from './structure.ts';
import type { Workflow, WorkflowDeps } from './workflow.ts';

export interface OpenWorkflowsDeps extends Omit<WorkflowDeps, 'documents' | 'schemas'> {
  readonly clock: Clock;
  /** Overrides for tests. */
  readonly documentLimits?: Omit<DocumentsOptions, 'clock'>;
  readonly schemaLimits?: Omit<SchemaChecksOptions, 'clock'>;
}

/** Threads start on first use and end with `closing`. */
export function openWorkflows(
  { clock, documentLimits, schemaLimits, ...given }: OpenWorkflowsDeps,
  closing: AsyncDisposableStack,
): readonly Workflow[] {
  const documents = new Documents({ clock, ...documentLimits });
  closing.defer(() => documents.close());
  const schemas = new SchemaChecks({ clock, ...schemaLimits });
  closing.defer(() => schemas.close());
  const deps = { ...given, documents, schemas };
  return [
    structureWorkflow(deps),
    promptWorkflow(deps),
    searchWorkflow(deps.search),
    ingestWorkflow(deps.ingest),
  ];
}
