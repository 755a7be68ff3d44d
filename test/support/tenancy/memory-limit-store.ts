// Limits in memory, for tests.
import type { IdSource } from '../../../src/core/index.ts';
import type { LimitStore, OrganizationLimit } from '../../../src/tenancy/admission/types.ts';

export class MemoryLimitStore implements LimitStore {
  readonly #ids: IdSource;
  readonly #limits = new Map<string, OrganizationLimit>();

  constructor(ids: IdSource) {
    this.#ids = ids;
  }

  get(organizationId: string): Promise<OrganizationLimit | null> {
    return Promise.resolve(this.#limits.get(organizationId) ?? null);
  }

  list(): Promise<readonly OrganizationLimit[]> {
    const byTime = (a: OrganizationLimit, b: OrganizationLimit) =>
      a.createdAt.getTime() - b.createdAt.getTime();
    return Promise.resolve([...this.#limits.values()].sort(byTime));
  }

  set(
    organizationId: string,
    concurrentRequestLimit: number,
    at: Date,
  ): Promise<{ readonly limit: OrganizationLimit; readonly isNew: boolean }> {
    const known = this.#limits.get(organizationId);
    const limit: OrganizationLimit = known
      ? { ...known, concurrentRequestLimit, modifiedAt: at }
      : { id: this.#ids.uuid(), organizationId, concurrentRequestLimit, createdAt: at, modifiedAt: at };
    this.#limits.set(organizationId, limit);
    return Promise.resolve({ limit, isNew: !known });
  }

  delete(organizationId: string): Promise<OrganizationLimit | null> {
    const known = this.#limits.get(organizationId) ?? null;
    this.#limits.delete(organizationId);
    return Promise.resolve(known);
  }
}
