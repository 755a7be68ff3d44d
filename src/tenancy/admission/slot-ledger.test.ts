// Releases that the store has not confirmed, and the number of servers.
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

it('counts fewer servers only a lease after more: a flushed store has lost them', async () => {
  const clock = new VirtualClock();
  const ledger = new SlotLedger(clock, 60_000);
  const counted = (count: number) => {
    ledger.setServers(count);
    return ledger.servers;
  };
  expect(counted(3)).toBe(3);
  await clock.advance(59_999);
  expect(counted(1)).toBe(3);
  expect(counted(4)).toBe(4);
  await clock.advance(60_000);
  expect(counted(1)).toBe(1);
});
