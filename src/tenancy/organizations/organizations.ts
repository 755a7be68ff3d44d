// Organizations, read from memory by id or name, with the rules for both; and the copies in memory of what they own.
import type { Clock, Emitter, IdSource, Random } from '../../core/index.ts';
import { CoreError, kindOf } from '../../core/index.ts';
import { Mirror } from '../../resilience/index.ts';
import type { TenantEvents } from '../events.ts';
import { displayName, invalidName, quoteName } from '../names.ts';
import type { Organization, OrganizationStore, TenantTopic } from '../types.ts';

export interface MirrorDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: IdSource;
  readonly events: Emitter<TenantEvents>;
}

export function mirrorOf<Row>(
  { clock, random, events }: MirrorDeps,
  topic: TenantTopic,
  list: () => Promise<readonly Row[]>,
  show: (rows: readonly Row[]) => void,
): Mirror<Row> {
  const onFailure = (error: unknown): void =>
    events.emit('tenants:store-failed', { what: topic, cause: kindOf(error) });
  return new Mirror({ clock, random }, { list, show, onFailure });
}

/** Replaces the row with the same id, or appends it. */
export function withRow<Row extends { readonly id: string }>(rows: readonly Row[], row: Row): readonly Row[] {
  const at = rows.findIndex(({ id }) => id === row.id);
  return at === -1 ? [...rows, row] : rows.with(at, row);
}

export interface OrganizationServiceDeps extends MirrorDeps {
  readonly store: OrganizationStore;
  /** Its keys and deployments are deleted as well. */
  readonly onDeleted: (organizationId: string) => void;
}

/** Every `reference` is an id or a name. */
export class OrganizationService {
  readonly mirror: Mirror<Organization>;
  readonly #deps: OrganizationServiceDeps;
  #byId: ReadonlyMap<string, Organization> = new Map();
  #byName: ReadonlyMap<string, Organization> = new Map();

  constructor(deps: OrganizationServiceDeps) {
    this.#deps = deps;
    this.mirror = mirrorOf(
      deps,
      'organizations',
      () => deps.store.list(),
      (rows) => this.#index(rows),
    );
  }

  /** Fails with NOT_FOUND. */
  find(reference: string): Organization {
    const found = isOrganizationId(reference)
      ? this.#byId.get(reference)
      : this.#byName.get(nameKey(reference));
    if (found) return found;
    throw new CoreError(
      'NOT_FOUND',
      `There is no organization ${quoteName(reference)}. List them with "headworks organizations list".`,
    );
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  list(): readonly Organization[] {
    return this.mirror.rows;
  }

  /** Fails with INPUT_INVALID, or CONFLICT when the name is taken. */
  async create(name: string): Promise<Organization> {
    const { ids, clock, store } = this.#deps;
    const organization: Organization = {
      id: newOrganizationId(ids),
      name: organizationName(name),
      createdAt: new Date(clock.now()),
    };
    await store.create(organization);
    this.mirror.edit((rows) => withRow(rows, organization));
    return organization;
  }

  async rename(reference: string, name: string): Promise<Organization> {
    const { id } = this.find(reference);
    const renamed = await this.#deps.store.rename(id, organizationName(name));
    if (!renamed) throw this.#deletedMeanwhile(reference);
    this.mirror.edit((rows) => withRow(rows, renamed));
    return renamed;
  }

  /**
   * Deletes an organization with keys, deployments, limit and ended executions. Fails with CONFLICT while one is
   * unfinished.
   */
  async delete(reference: string): Promise<Organization> {
    const organization = this.find(reference);
    const { store, onDeleted } = this.#deps;
    if (!(await store.delete(organization.id))) throw this.#deletedMeanwhile(reference);
    this.mirror.edit((rows) => rows.filter(({ id }) => id !== organization.id));
    onDeleted(organization.id);
    return organization;
  }

  #deletedMeanwhile(reference: string): CoreError {
    void this.mirror.refresh();
    return new CoreError('NOT_FOUND', `The organization ${quoteName(reference)} was deleted meanwhile.`);
  }

  #index(rows: readonly Organization[]): void {
    this.#byId = new Map(rows.map((row) => [row.id, row]));
    this.#byName = new Map(rows.map((row) => [nameKey(row.name), row]));
  }
}

/* ---- names and ids ---- */

/** As `displayName`, and without anything that could be mistaken for an id or for several path segments. */
export function organizationName(given: string): string {
  const name = displayName(given);
  if (/[/\\]/.test(name)) throw invalidName('name', 'must not contain a slash: it is part of a URL');
  if (nameKey(name).startsWith('org_'))
    throw invalidName('name', 'must not begin with "org_": it would be mistaken for an id');
  return name;
}

/**
 * Names with the same key are the same name: case, full and half width, ligatures and the number of spaces make no
 * difference. Letters of different scripts that look alike do.
 */
export function nameKey(name: string): string {
  // By way of upper case: "ß", "ẞ" and "SS" are the same name.
  const folded = name.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase();
  return folded.normalize('NFKC').replace(/\s+/g, ' ');
}

const organizationIdShape = /^org_[0-9A-Za-z]{16}$/;

export const isOrganizationId = (text: string): boolean => organizationIdShape.test(text);

/** `org_` and 16 letters and digits: 95 random bits. */
export function newOrganizationId(ids: IdSource): string {
  let characters = '';
  while (characters.length < 16) characters += ids.token(24).replace(/[-_]/g, '');
  return `org_${characters.slice(0, 16)}`;
}
