// All workflows.
import { ingestWorkflow, searchWorkflow } from './knowledge.ts';
import { promptWorkflow } from './prompt.ts';
import { structureWorkflow } from './structure.ts';
import type { Workflow, WorkflowDeps } from './workflow.ts';

export const createWorkflows = (deps: WorkflowDeps): readonly Workflow[] => [
  structureWorkflow(deps),
  promptWorkflow(deps),
  searchWorkflow(deps.search),
  ingestWorkflow(deps.ingest),
];
