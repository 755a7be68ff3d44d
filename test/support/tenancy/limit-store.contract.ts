// Contract of limit stores.
import { describe, expect, it } from 'vitest';
import { maxLimit } from '../../../src/tenancy/options.ts';
import type { LimitStore } from '../../../src/tenancy/admission/types.ts';

const moment = (second: number): Date => new Date(Date.UTC(2026, 2, 1, 12, 0, second));

/** `make` returns an empty store in which the organizations `org_a` and `org_b` exist. */
export function describeLimitStoreContract(name: string, make: () => Promise<LimitStore>): void {
  describe(`limits in ${name}`, () => {
    it('has no limit that was not set', async () => {
      const store = await make();
      expect(await store.get('org_a')).toBeNull();
      expect(await store.list()).toEqual([]);
      expect(await store.delete('org_a')).toBeNull();
    });

    it('creates a limit, updates it, and keeps its id and creation time', async () => {
      const store = await make();
      const added = await store.set('org_a', 50, moment(1));
      expect(added).toEqual({
        isNew: true,
        limit: {
          id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
          organizationId: 'org_a',
          concurrentRequestLimit: 50,
          createdAt: moment(1),
          modifiedAt: moment(1),
        },
      });
      const changed = await store.set('org_a', maxLimit, moment(2));
      expect(changed).toEqual({
        isNew: false,
        limit: { ...added.limit, concurrentRequestLimit: maxLimit, modifiedAt: moment(2) },
      });
      expect(await store.get('org_a')).toEqual(changed.limit);
    });

    it('lists by creation time, also after updates', async () => {
      const store = await make();
      await store.set('org_b', 2, moment(1));
      await store.set('org_a', 1, moment(2));
      await store.set('org_b', 3, moment(3));
      expect((await store.list()).map(({ organizationId }) => organizationId)).toEqual(['org_b', 'org_a']);
    });

    it('deletes a limit once and returns it', async () => {
      const store = await make();
      const { limit } = await store.set('org_a', 5, moment(1));
      await store.set('org_b', 6, moment(1));
      expect(await store.delete('org_a')).toEqual(limit);
      expect(await store.delete('org_a')).toBeNull();
      expect(await store.list()).toHaveLength(1);
      expect((await store.set('org_a', 5, moment(2))).isNew).toBe(true);
    });
  });
}
