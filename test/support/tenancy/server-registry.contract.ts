// Contract of registries of servers.
import { describe, expect, it } from 'vitest';
import type { ServerRegistry, ServerReport } from '../../../src/tenancy/admission/types.ts';

const report = (serverId: string, number: number, more: Partial<ServerReport> = {}): ServerReport => ({
  serverId,
  number,
  heartbeats: 0,
  slots: [],
  isDown: false,
  sharedWith: null,
  ...more,
});

/** `make` returns an empty registry whose reports are valid for a lease, and a function that lets a lease pass. */
export function describeServerRegistryContract(
  name: string,
  make: () => Promise<{ readonly registry: ServerRegistry; readonly passLease: () => Promise<void> }>,
): void {
  describe(`servers in ${name}`, () => {
    it('returns the latest report of each server, whatever the order of arrival', async () => {
      const { registry } = await make();
      const slots = [{ organizationId: 'org_a', executionId: 'é"1' }];
      const latest = report('one', 2, { heartbeats: 7, slots, isDown: true, sharedWith: ['one', 'two'] });
      await registry.report(latest);
      await registry.report(report('two', 1));
      await registry.report(report('one', 1));
      expect(await registry.list()).toEqual([latest, report('two', 1)]);
    });

    it('returns neither servers that were removed nor those without a report for a lease', async () => {
      const { registry, passLease } = await make();
      for (const id of ['gone', 'silent', 'alive']) await registry.report(report(id, 1));
      await registry.remove('gone');
      await passLease();
      await registry.report(report('alive', 2));
      expect(await registry.list()).toEqual([report('alive', 2)]);
    });
  });
}
