// Contract of slot stores. Run by each adapter.
import { describe } from 'vitest';
import { describeCachedLimits } from './cached-limits.contract.ts';
import { describeSlotLeases } from './slot-leases.contract.ts';
import { describeSlotLimits } from './slot-limits.contract.ts';
import type { MakeSlotStore } from './slot-store-world.contract.ts';

export function describeSlotStoreContract(name: string, make: MakeSlotStore): void {
  describe(`slot store: ${name}`, () => {
    describeSlotLimits(make);
    describeSlotLeases(make);
    describeCachedLimits(make);
  });
}
