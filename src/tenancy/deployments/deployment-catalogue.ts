// Deployments from memory, by id or by organization and name, kept in step with the store.
import { CoreError } from '../../core/index.ts';
import type { Mirror } from '../../resilience/index.ts';
import type { DeploymentDesk, DeploymentWish } from '../desk-ports.ts';
import { shownName } from '../names.ts';
import type { Organizations } from '../organizations/organizations.ts';
import type { Deployment, DeploymentStore, Workflow } from '../ports.ts';
import type { TenantParts } from '../tenant-stores.ts';
import { mirrorOf, withRow } from '../tenant-stores.ts';
import type { WishRules } from './check-wish.ts';
import { checkWish } from './check-wish.ts';
import { signingSecretOf } from './signing-secret.ts';
import type { IsForbiddenHost } from './webhook-url.ts';

export interface CatalogueRules {
  readonly workflows: readonly Workflow[];
  /** The most that a deployment may let its requests wait for a slot. */
  readonly longestWaitSeconds: number;
  /** From it each deployment's signing secret is derived; null: none may have a webhook. */
  readonly webhookSecret: string | null;
  readonly isForbiddenHost: IsForbiddenHost;
}

export interface DeploymentCatalogueParts extends TenantParts, CatalogueRules {
  readonly store: DeploymentStore;
  readonly organizations: Pick<Organizations, 'find'>;
}

export class DeploymentCatalogue implements DeploymentDesk {
  readonly mirror: Mirror<Deployment>;
  readonly #parts: DeploymentCatalogueParts;
  readonly #rules: WishRules;
  #byId: ReadonlyMap<string, Deployment> = new Map();
  /** By organization, and name or id: a request finds its deployment without making a text of the two. */
  #byPlace: ReadonlyMap<string, ReadonlyMap<string, Deployment>> = new Map();

  constructor(parts: DeploymentCatalogueParts) {
    this.#parts = parts;
    this.#rules = {
      workflows: new Map(parts.workflows.map((workflow) => [workflow.name, workflow])),
      longestWaitSeconds: parts.longestWaitSeconds,
      canSign: parts.webhookSecret !== null,
      isForbiddenHost: parts.isForbiddenHost,
    };
    this.mirror = mirrorOf(
      parts,
      'deployments',
      () => parts.store.list(),
      (rows) => this.#show(rows),
    );
  }

  list(organization?: string): readonly Deployment[] {
    if (organization === undefined) return this.mirror.rows;
    const { id } = this.#parts.organizations.find(organization);
    return this.mirror.rows.filter(({ organizationId }) => organizationId === id);
  }

  get(id: string): Deployment {
    const found = this.#byId.get(id);
    if (found) return found;
    throw new CoreError(
      'NOT_FOUND',
      `There is no deployment with the id ${shownName(id)}. "headworks deployments list" shows all.`,
    );
  }

  find(organization: string, reference: string): Deployment {
    const owner = this.#parts.organizations.find(organization);
    const found = this.#byPlace.get(owner.id)?.get(reference.toLowerCase());
    if (found) return found;
    throw new CoreError(
      'NOT_FOUND',
      `The organization ${shownName(owner.name)} has no deployment ${shownName(reference)}. ` +
        '"headworks deployments list" shows all.',
    );
  }

  async add(organization: string, wish: DeploymentWish): Promise<Deployment> {
    const { ids, clock, store, organizations } = this.#parts;
    const { id: organizationId } = organizations.find(organization);
    await checkWish(wish, { workflow: wish.workflow, organizationId }, this.#rules);
    const now = new Date(clock.now());
    const deployment: Deployment = {
      ...wish,
      id: ids.uuid(),
      organizationId,
      createdAt: now,
      modifiedAt: now,
    };
    await store.add(deployment);
    this.mirror.edit((rows) => withRow(rows, deployment));
    return deployment;
  }

  async change(id: string, change: Partial<Omit<DeploymentWish, 'workflow'>>): Promise<Deployment> {
    const { clock, store } = this.#parts;
    await checkWish(change, this.get(id), this.#rules);
    const changed = await store.change(id, change, new Date(clock.now()));
    if (!changed) throw this.#goneMeanwhile(id);
    this.mirror.edit((rows) => withRow(rows, changed));
    return changed;
  }

  async remove(id: string): Promise<Deployment> {
    const deployment = this.get(id);
    if (!(await this.#parts.store.remove(id))) throw this.#goneMeanwhile(id);
    this.mirror.edit((rows) => rows.filter((row) => row.id !== id));
    return deployment;
  }

  async warnings({ workflow, options, organizationId }: Deployment): Promise<readonly string[]> {
    return (await this.#rules.workflows.get(workflow)?.warnings?.(options, organizationId)) ?? [];
  }

  signingSecret({ id, webhookUrl }: Deployment): string | null {
    if (webhookUrl === null) return null;
    const { webhookSecret } = this.#parts;
    if (webhookSecret !== null) return signingSecretOf(webhookSecret, id);
    throw new CoreError(
      'CONFIG_INVALID',
      `The webhook of the deployment ${id} cannot be signed on this machine. ` +
        'Set deployments.webhookSecret (HEADWORKS_WEBHOOK_SECRET) to the same on all machines.',
    );
  }

  /** Forgets at once what the store removed together with its organization. */
  forgetOrganization(organizationId: string): void {
    this.mirror.edit((rows) => rows.filter((row) => row.organizationId !== organizationId));
  }

  #goneMeanwhile(id: string): CoreError {
    void this.mirror.refresh();
    return new CoreError('NOT_FOUND', `The deployment ${id} was removed meanwhile.`);
  }

  #show(rows: readonly Deployment[]): void {
    this.#byId = new Map(rows.map((row) => [row.id, row]));
    const owned = Map.groupBy(rows, ({ organizationId }) => organizationId);
    this.#byPlace = new Map(Array.from(owned, ([id, own]) => [id, placesOf(own)]));
  }
}

/** By name and by id. The id wins: once deployments could be named like one, and addresses with it stay. */
function placesOf(own: readonly Deployment[]): ReadonlyMap<string, Deployment> {
  return new Map([
    ...own.map((row) => [row.name.toLowerCase(), row] as const),
    ...own.map((row) => [row.id, row] as const),
  ]);
}
