// Organizations from memory, by id or name, kept in step with the store.
import { CoreError } from '../../core/index.ts';
import type { Mirror } from '../../resilience/index.ts';
import type { OrganizationDesk } from '../desk-ports.ts';
import { nameKey, organizationName, shownName } from '../names.ts';
import type { Organization, OrganizationStore } from '../ports.ts';
import type { TenantParts } from '../tenant-stores.ts';
import { mirrorOf, withRow } from '../tenant-stores.ts';
import { isOrganizationId, newOrganizationId } from './organization-id.ts';

export interface OrganizationsParts extends TenantParts {
  readonly store: OrganizationStore;
  /** Its keys and deployments are gone, too. */
  readonly onRemoved: (organizationId: string) => void;
}

export class Organizations implements OrganizationDesk {
  readonly mirror: Mirror<Organization>;
  readonly #parts: OrganizationsParts;
  #byId: ReadonlyMap<string, Organization> = new Map();
  #byName: ReadonlyMap<string, Organization> = new Map();

  constructor(parts: OrganizationsParts) {
    this.#parts = parts;
    this.mirror = mirrorOf(
      parts,
      'organizations',
      () => parts.store.list(),
      (rows) => this.#show(rows),
    );
  }

  find(reference: string): Organization {
    const found = isOrganizationId(reference)
      ? this.#byId.get(reference)
      : this.#byName.get(nameKey(reference));
    if (found) return found;
    throw new CoreError(
      'NOT_FOUND',
      `There is no organization ${shownName(reference)}. "headworks organizations list" shows all.`,
    );
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  list(): readonly Organization[] {
    return this.mirror.rows;
  }

  async add(name: string): Promise<Organization> {
    const { ids, clock, store } = this.#parts;
    const organization: Organization = {
      id: newOrganizationId(ids),
      name: organizationName(name),
      createdAt: new Date(clock.now()),
    };
    await store.add(organization);
    this.mirror.edit((rows) => withRow(rows, organization));
    return organization;
  }

  async rename(reference: string, name: string): Promise<Organization> {
    const { id } = this.find(reference);
    const renamed = await this.#parts.store.rename(id, organizationName(name));
    if (!renamed) throw this.#goneMeanwhile(reference);
    this.mirror.edit((rows) => withRow(rows, renamed));
    return renamed;
  }

  async remove(reference: string): Promise<Organization> {
    const organization = this.find(reference);
    const { store, onRemoved } = this.#parts;
    if (!(await store.remove(organization.id))) throw this.#goneMeanwhile(reference);
    this.mirror.edit((rows) => rows.filter(({ id }) => id !== organization.id));
    onRemoved(organization.id);
    return organization;
  }

  #goneMeanwhile(reference: string): CoreError {
    void this.mirror.refresh();
    return new CoreError('NOT_FOUND', `The organization ${shownName(reference)} was removed meanwhile.`);
  }

  #show(rows: readonly Organization[]): void {
    this.#byId = new Map(rows.map((row) => [row.id, row]));
    this.#byName = new Map(rows.map((row) => [nameKey(row.name), row]));
  }
}
