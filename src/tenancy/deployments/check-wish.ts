// What is wrong with a deployment as somebody wants it: all problems at once, before anything is stored.
import { asSentence } from '../as-sentence.ts';
import type { DeploymentWish } from '../desk-ports.ts';
import { DeploymentError } from '../errors.ts';
import { isTooDeep } from '../executions/is-too-deep.ts';
import { deploymentNameProblem, invalidInput } from '../names.ts';
import type { Deployment, Workflow, WorkflowName, WorkflowProblem } from '../ports.ts';
import type { IsForbiddenHost } from './webhook-url.ts';
import { webhookUrlProblem } from './webhook-url.ts';

export interface WishRules {
  readonly workflows: ReadonlyMap<WorkflowName, Workflow>;
  readonly longestWaitSeconds: number;
  /** Can a webhook be signed here? */
  readonly canSign: boolean;
  readonly isForbiddenHost: IsForbiddenHost;
}

/** Options are kept with the deployment and in the memory of every server. */
const largestOptionsBytes = 262_144;

/** Fails with INPUT_INVALID, or DEPLOYMENT_WORKFLOW_UNAVAILABLE when the workflow cannot be used here. */
export async function checkWish(
  wish: Partial<DeploymentWish>,
  { workflow, organizationId }: Pick<Deployment, 'workflow' | 'organizationId'>,
  rules: WishRules,
): Promise<void> {
  const { name, waitSeconds, webhookUrl, options } = wish;
  const problems = [
    ...problem('name', name === undefined ? null : deploymentNameProblem(name)),
    ...problem('wait_seconds', waitSeconds === undefined ? null : waitProblem(waitSeconds, rules)),
    ...problem('webhook_url', typeof webhookUrl === 'string' ? webhookProblem(webhookUrl, rules) : null),
    ...(options === undefined ? [] : await optionProblems(options, { workflow, organizationId }, rules)),
  ];
  if (problems.length > 0) throw invalidInput(problems);
}

const problem = (field: string, message: string | null): readonly WorkflowProblem[] =>
  message === null ? [] : [{ field, message }];

const waitProblem = (waitSeconds: number, { longestWaitSeconds }: WishRules): string | null =>
  waitSeconds >= 0 && waitSeconds <= longestWaitSeconds
    ? null
    : `must be from 0 to ${longestWaitSeconds} seconds (admission.longestWaitSeconds)`;

const webhookProblem = (url: string, { canSign, isForbiddenHost }: WishRules): string | null =>
  canSign
    ? webhookUrlProblem(url, isForbiddenHost)
    : 'cannot be signed yet: several machines may share this database, so set deployments.webhookSecret ' +
      '(HEADWORKS_WEBHOOK_SECRET) to the same on all of them first';

async function optionProblems(
  options: DeploymentWish['options'],
  { workflow, organizationId }: Pick<Deployment, 'workflow' | 'organizationId'>,
  { workflows }: WishRules,
): Promise<readonly WorkflowProblem[]> {
  const usable = usableWorkflow(workflow, workflows);
  if (isTooDeep(options)) return [{ field: 'options', message: 'must not be nested so deeply' }];
  if (Buffer.byteLength(JSON.stringify(options)) > largestOptionsBytes)
    return [{ field: 'options', message: `must not take more than ${largestOptionsBytes} bytes as JSON` }];
  const found = await usable.checkOptions(options, organizationId);
  return found.map(({ field, message }) => ({ field: `options.${field}`, message }));
}

function usableWorkflow(name: WorkflowName, workflows: WishRules['workflows']): Workflow {
  const workflow = workflows.get(name);
  if (workflow && workflow.unavailable === null) return workflow;
  throw new DeploymentError(
    'DEPLOYMENT_WORKFLOW_UNAVAILABLE',
    asSentence(
      `The workflow "${name}" cannot be used here: ${workflow?.unavailable ?? 'it is not part of this version'}`,
    ),
  );
}
