// Slots in memory: the contract on virtual time.
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { MemorySlotStore } from './memory-slot-store.ts';
import { slotStoreSettings } from '../../../test/support/tenancy/slot-store-world.contract.ts';
import { describeSlotStoreContract } from '../../../test/support/tenancy/slot-store.contract.ts';

describeSlotStoreContract('memory', () => {
  const clock = new VirtualClock();
  const store = new MemorySlotStore({ clock, ...slotStoreSettings });
  return Promise.resolve({ store, advance: (ms) => clock.advance(ms) });
});
