// API keys of organizations, found in memory by their SHA-256: the time of a lookup reveals nothing about other keys.
import type { KeyCheck } from '../../core/index.ts';
import { AccessKeyKind, CoreError, KeyRegistry } from '../../core/index.ts';
import type { Mirror } from '../../resilience/index.ts';
import { displayName, invalidInput, quoteName } from '../names.ts';
import type { ApiKeyStore, OrganizationKey, StoredOrganizationKey } from '../types.ts';
import type { MirrorDeps, OrganizationService } from './organizations.ts';
import { mirrorOf, withRow } from './organizations.ts';

export interface ApiKeyServiceDeps extends MirrorDeps {
  readonly store: ApiKeyStore;
  readonly organizations: Pick<OrganizationService, 'find' | 'has'>;
}

const kind = new AccessKeyKind('hwo_');

export class ApiKeyService {
  readonly mirror: Mirror<StoredOrganizationKey>;
  readonly #deps: ApiKeyServiceDeps;
  readonly #registry = new KeyRegistry<OrganizationKey>(kind);

  constructor(deps: ApiKeyServiceDeps) {
    this.#deps = deps;
    this.mirror = mirrorOf(
      deps,
      'keys',
      () => deps.store.list(),
      (rows) => this.#registry.keepOnly(new Map(rows.map(({ hash, ...key }) => [hash, key]))),
    );
  }

  /** Null for anything that is not a known key. */
  check(credential: string): KeyCheck<OrganizationKey> | null {
    const { organizations, clock } = this.#deps;
    const check = this.#registry.check(credential, clock.now());
    // Between two reads a key may be known whose organization was deleted.
    return check?.kind === 'valid' && !organizations.has(check.key.organizationId) ? null : check;
  }

  /** The key itself is returned only here. */
  async create(
    organization: string,
    { name, expiresAt }: { readonly name: string; readonly expiresAt: Date | null },
  ): Promise<{ readonly key: string; readonly record: OrganizationKey }> {
    const { ids, clock, store, organizations } = this.#deps;
    const now = clock.now();
    if (expiresAt && !(expiresAt.getTime() > now))
      throw invalidInput([{ field: 'expires_at', message: 'must be in the future' }]);
    const { key, prefix, hash } = kind.make(ids);
    const record: OrganizationKey = {
      id: ids.uuid(),
      organizationId: organizations.find(organization).id,
      name: displayName(name),
      prefix,
      createdAt: new Date(now),
      expiresAt,
      revokedAt: null,
    };
    await store.create({ ...record, hash });
    this.mirror.edit((rows) => withRow(rows, { ...record, hash }));
    return { key, record };
  }

  list(organization: string): readonly OrganizationKey[] {
    const { id } = this.#deps.organizations.find(organization);
    return this.#registry.list().filter(({ organizationId }) => organizationId === id);
  }

  /** Fails with NOT_FOUND, also for a key of another organization. */
  async revoke(organization: string, id: string): Promise<OrganizationKey> {
    const { store, clock, organizations } = this.#deps;
    const owner = organizations.find(organization);
    const known = this.#registry.byId(id);
    const revoked = known?.organizationId === owner.id ? await store.revoke(id, new Date(clock.now())) : null;
    if (!revoked)
      throw new CoreError(
        'NOT_FOUND',
        `The organization ${quoteName(owner.name)} has no key with the id ${quoteName(id)}. ` +
          'List its keys with "headworks organizations keys list".',
      );
    this.mirror.edit((rows) => rows.map((row) => (row.id === id ? { ...row, ...revoked } : row)));
    return revoked;
  }

  /** The store deleted the keys together with their organization. */
  dropOrganization(organizationId: string): void {
    this.mirror.edit((rows) => rows.filter((row) => row.organizationId !== organizationId));
  }
}
