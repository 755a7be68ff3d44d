// Contract of gateway key stores.
import { describe, expect, it } from 'vitest';
import type { GatewayKeyStore } from '../../../src/gateway/stores.ts';
import { exampleKey, moment } from './examples.ts';

/** `make` returns an empty store. */
export function describeGatewayKeyStoreContract(name: string, make: () => Promise<GatewayKeyStore>): void {
  describe(`gateway keys in ${name}`, () => {
    it('are returned as added, oldest first', async () => {
      const store = await make();
      const plain = exampleKey(1);
      const full = exampleKey(2, {
        name: 'ü "x"',
        expiresAt: new Date(moment(9)),
        requestsPerMinute: 60,
        tokensPerDay: 5_000_000_000,
        usdPerDay: 0.05,
      });
      await store.add(full);
      await store.add(plain);
      expect(await store.list()).toEqual([plain, full]);
    });

    it('are revoked once; the first time stays', async () => {
      const store = await make();
      const { hash, ...key } = exampleKey(1);
      await store.add({ ...key, hash });
      const revoked = { ...key, revokedAt: new Date(moment(10)) };
      expect(await store.revoke(key.id, new Date(moment(10)))).toEqual(revoked);
      expect(await store.revoke(key.id, new Date(moment(20)))).toEqual(revoked);
      expect(await store.list()).toEqual([{ ...revoked, hash }]);
    });

    it('get other limits', async () => {
      const store = await make();
      const { hash, ...key } = exampleKey(1, { requestsPerMinute: 5 });
      await store.add({ ...key, hash });
      const limits = { requestsPerMinute: null, tokensPerDay: 7, usdPerDay: 1.5 };
      expect(await store.setLimits(key.id, limits)).toEqual({ ...key, ...limits });
      expect(await store.list()).toEqual([{ ...key, ...limits, hash }]);
      expect(await store.setLimits(exampleKey(7).id, limits)).toBeUndefined();
      expect(await store.setLimits('nonsense', limits)).toBeUndefined();
    });

    it('cannot be revoked when they do not exist', async () => {
      const store = await make();
      expect(await store.revoke(exampleKey(7).id, new Date(moment(0)))).toBeUndefined();
      expect(await store.revoke('nonsense', new Date(moment(0)))).toBeUndefined();
    });
  });
}
