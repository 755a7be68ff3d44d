// A workflow that has its name already, and waits for what it works on.
import { DeploymentError } from '../errors.ts';
import type { Workflow, WorkflowName } from '../ports.ts';

export function unavailableWorkflow(name: WorkflowName, why: string): Workflow {
  return {
    name,
    unavailable: why,
    checkOptions: () => Promise.resolve([]),
    checkInput: () => Promise.resolve([]),
    run: () => Promise.reject(new DeploymentError('DEPLOYMENT_WORKFLOW_UNAVAILABLE', `${why}.`)),
  };
}
