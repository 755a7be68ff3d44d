// Keys of organizations from memory: a key is known by its SHA-256, so a lookup tells nothing about other keys.
import type { KeyRefusal } from '../../core/index.ts';
import { AccessKeyKind, CoreError, KeyBook, keyRefusal } from '../../core/index.ts';
import type { Mirror } from '../../resilience/index.ts';
import type { OrganizationKeyDesk } from '../desk-ports.ts';
import { displayName, invalidInput, shownName } from '../names.ts';
import type { Organizations } from './organizations.ts';
import type { OrganizationKey, OrganizationKeyStore, StoredOrganizationKey } from '../ports.ts';
import type { TenantParts } from '../tenant-stores.ts';
import { mirrorOf, withRow } from '../tenant-stores.ts';

export interface OrganizationKeysParts extends TenantParts {
  readonly store: OrganizationKeyStore;
  readonly organizations: Pick<Organizations, 'find' | 'has'>;
}

const kind = new AccessKeyKind('hwo_');

export class OrganizationKeys implements OrganizationKeyDesk {
  readonly mirror: Mirror<StoredOrganizationKey>;
  readonly #parts: OrganizationKeysParts;
  readonly #book = new KeyBook<OrganizationKey>(kind);

  constructor(parts: OrganizationKeysParts) {
    this.#parts = parts;
    this.mirror = mirrorOf(
      parts,
      'keys',
      () => parts.store.list(),
      (rows) => this.#book.keepOnly(new Map(rows.map(({ hash, ...key }) => [hash, key]))),
    );
  }

  async create(
    organization: string,
    { name, expiresAt }: { readonly name: string; readonly expiresAt: Date | null },
  ): Promise<{ readonly key: string; readonly record: OrganizationKey }> {
    const { ids, clock, store, organizations } = this.#parts;
    const now = clock.now();
    if (expiresAt && !(expiresAt.getTime() > now))
      throw invalidInput([{ field: 'expires_at', message: 'must lie in the future' }]);
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
    await store.add({ ...record, hash });
    this.mirror.edit((rows) => withRow(rows, { ...record, hash }));
    return { key, record };
  }

  list(organization: string): readonly OrganizationKey[] {
    const { id } = this.#parts.organizations.find(organization);
    return this.#book.list().filter(({ organizationId }) => organizationId === id);
  }

  async revoke(organization: string, id: string): Promise<OrganizationKey> {
    const { store, clock, organizations } = this.#parts;
    const owner = organizations.find(organization);
    const known = this.#book.byId(id);
    const revoked = known?.organizationId === owner.id ? await store.revoke(id, new Date(clock.now())) : null;
    if (!revoked)
      throw new CoreError(
        'NOT_FOUND',
        `The organization ${shownName(owner.name)} has no key with the id ${shownName(id)}. ` +
          `"headworks organizations keys list" shows all.`,
      );
    this.mirror.edit((rows) => rows.map((row) => (row.id === id ? { ...row, ...revoked } : row)));
    return revoked;
  }

  organizationOf(credential: string): string | null {
    const key = this.#find(credential);
    return key && this.#refusal(key) === undefined ? key.organizationId : null;
  }

  refusal(credential: string): KeyRefusal | null {
    const key = this.#find(credential);
    return (key && this.#refusal(key)) ?? null;
  }

  /** Forgets at once what the store removed together with its organization. */
  forgetOrganization(organizationId: string): void {
    this.mirror.edit((rows) => rows.filter((row) => row.organizationId !== organizationId));
  }

  /** Between two reads a key may be known whose organization is gone: it opens nothing. */
  #find(credential: string): OrganizationKey | undefined {
    const key = this.#book.find(credential);
    return key && this.#parts.organizations.has(key.organizationId) ? key : undefined;
  }

  #refusal(key: OrganizationKey): KeyRefusal | undefined {
    return keyRefusal(key, this.#parts.clock.now());
  }
}
