// Deployments, read from memory by id or by organization and name; their validation and signing secrets.
import { createHmac } from 'node:crypto';
import { CoreError } from '../../core/index.ts';
import type { Mirror } from '../../resilience/index.ts';
import { deploymentNameProblem, invalidInput, isTooDeep, quoteName } from '../names.ts';
import type { MirrorDeps, OrganizationService } from '../organizations/organizations.ts';
import { mirrorOf, withRow } from '../organizations/organizations.ts';
import type { Deployment, DeploymentInput, DeploymentStore, DeploymentUpdate } from '../types.ts';
import type { WorkflowName } from '../vocabulary.ts';
import type { Workflow, WorkflowProblem } from '../workflows/workflow.ts';

/** Options are held in the memory of every server. */
const maxOptionsBytes = 262_144;
const maxUrlLength = 2_000;

/** Hosts that webhooks must not go to; what a name resolves to is checked when the webhook is sent. */
export type IsForbiddenHost = (hostname: string) => boolean;

export interface DeploymentRules {
  readonly workflows: readonly Workflow[];
  /** Longest time in the queue that a deployment may set. */
  readonly maxWaitSeconds: number;
  /** The signing secret of each deployment is derived from it; null: no deployment may have a webhook. */
  readonly webhookSecret: string | null;
  readonly isForbiddenHost: IsForbiddenHost;
}

export interface DeploymentServiceDeps extends MirrorDeps, DeploymentRules {
  readonly store: DeploymentStore;
  readonly organizations: Pick<OrganizationService, 'find'>;
}

export class DeploymentService {
  readonly mirror: Mirror<Deployment>;
  readonly #deps: DeploymentServiceDeps;
  readonly #workflows: ReadonlyMap<WorkflowName, Workflow>;
  #byId: ReadonlyMap<string, Deployment> = new Map();
  /** Deployments by organization id, then by name and by id. */
  #byOrganization: ReadonlyMap<string, ReadonlyMap<string, Deployment>> = new Map();

  constructor(deps: DeploymentServiceDeps) {
    this.#deps = deps;
    this.#workflows = new Map(deps.workflows.map((workflow) => [workflow.name, workflow]));
    this.mirror = mirrorOf(
      deps,
      'deployments',
      () => deps.store.list(),
      (rows) => this.#index(rows),
    );
  }

  list(organization?: string): readonly Deployment[] {
    if (organization === undefined) return this.mirror.rows;
    const { id } = this.#deps.organizations.find(organization);
    return this.mirror.rows.filter(({ organizationId }) => organizationId === id);
  }

  byId(id: string): Deployment | undefined {
    return this.#byId.get(id);
  }

  /** Fails with NOT_FOUND. */
  get(id: string): Deployment {
    const found = this.byId(id);
    if (found) return found;
    throw new CoreError(
      'NOT_FOUND',
      `There is no deployment with the id ${quoteName(id)}. List them with "headworks deployments list".`,
    );
  }

  /** Finds a deployment by name or id. Fails with NOT_FOUND. */
  find(organization: string, reference: string): Deployment {
    const owner = this.#deps.organizations.find(organization);
    const found = this.#byOrganization.get(owner.id)?.get(reference.toLowerCase());
    if (found) return found;
    throw new CoreError(
      'NOT_FOUND',
      `The organization ${quoteName(owner.name)} has no deployment ${quoteName(reference)}. ` +
        'List them with "headworks deployments list".',
    );
  }

  /** Fails with INPUT_INVALID (all problems in one error) or CONFLICT. */
  async create(organization: string, input: DeploymentInput): Promise<Deployment> {
    const { ids, clock, store, organizations } = this.#deps;
    const { id: organizationId } = organizations.find(organization);
    await this.#validate(input, { workflow: input.workflow, organizationId });
    const now = new Date(clock.now());
    const deployment: Deployment = {
      ...input,
      id: ids.uuid(),
      organizationId,
      createdAt: now,
      modifiedAt: now,
    };
    await store.create(deployment);
    this.mirror.edit((rows) => withRow(rows, deployment));
    return deployment;
  }

  async update(id: string, update: DeploymentUpdate): Promise<Deployment> {
    const { clock, store } = this.#deps;
    await this.#validate(update, this.get(id));
    const updated = await store.update(id, update, new Date(clock.now()));
    if (!updated) throw this.#deletedMeanwhile(id);
    this.mirror.edit((rows) => withRow(rows, updated));
    return updated;
  }

  /** Deletes a deployment with its ended executions. Fails with CONFLICT while one is unfinished. */
  async delete(id: string): Promise<Deployment> {
    const deployment = this.get(id);
    if (!(await this.#deps.store.delete(id))) throw this.#deletedMeanwhile(id);
    this.mirror.edit((rows) => rows.filter((row) => row.id !== id));
    return deployment;
  }

  /** Sentences about what keeps a deployment from working now, such as an unknown model. Never fails. */
  async warnings({ workflow, options, organizationId }: Deployment): Promise<readonly string[]> {
    return (await this.#workflows.get(workflow)?.warnings?.(options, organizationId)) ?? [];
  }

  workflowOf({ workflow }: Deployment): Workflow {
    const known = this.#workflows.get(workflow);
    if (!known) throw new CoreError('INTERNAL', `There is no workflow ${workflow}.`);
    return known;
  }

  /** Null when it has no webhook. Fails with CONFIG_INVALID on a machine without the secret. */
  signingSecret({ id, webhookUrl }: Deployment): string | null {
    if (webhookUrl === null) return null;
    const { webhookSecret } = this.#deps;
    if (webhookSecret !== null) return signingSecretOf(webhookSecret, id);
    throw new CoreError(
      'CONFIG_INVALID',
      `The webhook of the deployment ${id} cannot be signed on this machine. ` +
        'Set deployments.webhookSecret (HEADWORKS_WEBHOOK_SECRET) to the same value on all machines.',
    );
  }

  /** The store deleted the deployments together with their organization. */
  dropOrganization(organizationId: string): void {
    this.mirror.edit((rows) => rows.filter((row) => row.organizationId !== organizationId));
  }

  async #validate(
    { name, waitSeconds, webhookUrl, options }: Partial<DeploymentInput>,
    owner: Pick<Deployment, 'workflow' | 'organizationId'>,
  ): Promise<void> {
    const problems = [
      ...problem('name', name === undefined ? null : deploymentNameProblem(name)),
      ...problem('wait_seconds', waitSeconds === undefined ? null : this.#waitProblem(waitSeconds)),
      ...problem('webhook_url', typeof webhookUrl === 'string' ? this.#webhookProblem(webhookUrl) : null),
      ...(options === undefined ? [] : await this.#optionProblems(options, owner)),
    ];
    if (problems.length > 0) throw invalidInput(problems);
  }

  #waitProblem(waitSeconds: number): string | null {
    const { maxWaitSeconds } = this.#deps;
    return waitSeconds >= 0 && waitSeconds <= maxWaitSeconds
      ? null
      : `must be from 0 to ${maxWaitSeconds} seconds (admission.maxWaitSeconds)`;
  }

  #webhookProblem(url: string): string | null {
    const { webhookSecret, isForbiddenHost } = this.#deps;
    return webhookSecret === null
      ? 'cannot be signed yet: several machines may share this database, so set deployments.webhookSecret ' +
          '(HEADWORKS_WEBHOOK_SECRET) to the same value on all of them first'
      : webhookUrlProblem(url, isForbiddenHost);
  }

  async #optionProblems(
    options: DeploymentInput['options'],
    { workflow, organizationId }: Pick<Deployment, 'workflow' | 'organizationId'>,
  ): Promise<readonly WorkflowProblem[]> {
    const known = this.#workflows.get(workflow);
    if (!known)
      return [{ field: 'workflow', message: `${quoteName(workflow)} is not a workflow of this version` }];
    if (isTooDeep(options)) return [{ field: 'options', message: 'is nested too deeply' }];
    if (Buffer.byteLength(JSON.stringify(options)) > maxOptionsBytes)
      return [{ field: 'options', message: `must not take more than ${maxOptionsBytes} bytes as JSON` }];
    const found = await known.checkOptions(options, organizationId);
    return found.map(({ field, message }) => ({ field: `options.${field}`, message }));
  }

  #deletedMeanwhile(id: string): CoreError {
    void this.mirror.refresh();
    return new CoreError('NOT_FOUND', `The deployment ${id} was deleted meanwhile.`);
  }

  #index(rows: readonly Deployment[]): void {
    this.#byId = new Map(rows.map((row) => [row.id, row]));
    const owned = Map.groupBy(rows, ({ organizationId }) => organizationId);
    this.#byOrganization = new Map(Array.from(owned, ([id, own]) => [id, byReference(own)]));
  }
}

const problem = (field: string, message: string | null): readonly WorkflowProblem[] =>
  message === null ? [] : [{ field, message }];

/** Deployments by name and by id; the id wins. */
function byReference(own: readonly Deployment[]): ReadonlyMap<string, Deployment> {
  return new Map([
    ...own.map((row) => [row.name.toLowerCase(), row] as const),
    ...own.map((row) => [row.id, row] as const),
  ]);
}

/** What is wrong with a webhook URL; null when it is valid. */
export function webhookUrlProblem(text: string, isForbidden: IsForbiddenHost): string | null {
  if (text.length > maxUrlLength) return `must have at most ${maxUrlLength} characters`;
  // The parser drops surrounding spaces, tabs and line breaks: the URL called would not be the URL shown.
  const url = /[\s\p{C}]/u.test(text) ? null : URL.parse(text);
  if (!url || !['http:', 'https:'].includes(url.protocol)) return 'must be an http or https URL';
  if (url.username !== '' || url.password !== '')
    return 'must not contain a user name or password, since webhooks are signed instead';
  if (url.hash !== '') return 'must not contain a fragment (#): it is never sent';
  return isForbidden(url.hostname) ? privateProblem : null;
}

const privateProblem =
  'must not point to this machine or a private network, unless deployments.allowPrivateWebhooks ' +
  '(HEADWORKS_WEBHOOK_ALLOW_PRIVATE) is true';

/** `whsec_` and 32 bytes in base64, as in Standard Webhooks; it reveals nothing about those of other deployments. */
function signingSecretOf(masterSecret: string, deploymentId: string): string {
  const bytes = createHmac('sha256', masterSecret)
    .update(`headworks webhook ${deploymentId}`)
    .digest('base64');
  return `whsec_${bytes}`;
}
