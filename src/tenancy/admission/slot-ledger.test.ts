// Releases that the store has not confirmed.
import { expect, it } from 'vitest';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { SlotLedger } from './slot-ledger.ts';

const slot = { organizationId: 'acme', executionId: 'e1' };

async function sentBy(ledger: SlotLedger): Promise<readonly string[]> {
  const sent: string[] = [];
  await ledger.sendPendingReleases({
    release: async ({ executionId }) => {
      sent.push(executionId);
      return true;
    },
  });
  return sent;
}

it('sends a pending release once, and keeps it while the store fails', async () => {
  const ledger = new SlotLedger(new VirtualClock(), 60_000);
  ledger.addPendingRelease(slot);
  const failing = { release: () => Promise.reject(new Error('down')) };
  await expect(ledger.sendPendingReleases(failing)).rejects.toThrow('down');
  expect(await sentBy(ledger)).toEqual(['e1']);
  expect(await sentBy(ledger)).toEqual([]);
});

it.each([
  ['requested once more', (ledger: SlotLedger) => ledger.dropPendingRelease(slot.executionId)],
  ['held by this process', (ledger: SlotLedger) => ledger.add(slot)],
])('does not release a slot that is %s after a call without a reply', async (_, happens) => {
  const ledger = new SlotLedger(new VirtualClock(), 60_000);
  ledger.addPendingRelease(slot);
  happens(ledger);
  expect(await sentBy(ledger)).toEqual([]);
});
