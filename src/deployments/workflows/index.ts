// Workflows: what deployments do.
import type { Workflow } from '../ports.ts';
import { promptWorkflow } from './prompt-workflow.ts';
import { structureWorkflow } from './structure-workflow.ts';
import { unavailableWorkflow } from './unavailable-workflow.ts';
import type { WorkflowParts } from './workflow-parts.ts';

export type { StructureResult } from './structure-workflow.ts';
export type { WorkflowParts } from './workflow-parts.ts';

/** All four, whether they can be used here or not. */
export function workflowsOf(parts: WorkflowParts): readonly Workflow[] {
  return [
    structureWorkflow(parts),
    promptWorkflow(parts),
    unavailableWorkflow('search', 'Searching works on knowledge, which this version cannot gather yet'),
    unavailableWorkflow('ingest', 'Ingesting makes knowledge, which this version cannot keep yet'),
  ];
}
