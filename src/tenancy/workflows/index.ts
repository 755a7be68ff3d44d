// Workflows: what deployments do.
import type { Workflow } from '../ports.ts';
import { ingestWorkflow } from './ingest-workflow.ts';
import { promptWorkflow } from './prompt-workflow.ts';
import { searchWorkflow } from './search-workflow.ts';
import { structureWorkflow } from './structure-workflow.ts';
import { unavailableWorkflow } from './unavailable-workflow.ts';
import type { WorkflowParts } from './workflow-parts.ts';

export type { StructureResult } from './structure-workflow.ts';
export type { DocumentIntake, KnowledgeSearch, SpaceCheck, WorkflowParts } from './workflow-parts.ts';

/** All four, whether they can be used here or not. */
export function workflowsOf(parts: WorkflowParts): readonly Workflow[] {
  return [
    structureWorkflow(parts),
    promptWorkflow(parts),
    parts.search
      ? searchWorkflow(parts.search)
      : unavailableWorkflow('search', 'Searching works on knowledge, which nothing keeps here'),
    parts.ingest
      ? ingestWorkflow(parts.ingest)
      : unavailableWorkflow('ingest', 'Ingesting makes knowledge, which nothing keeps here'),
  ];
}
