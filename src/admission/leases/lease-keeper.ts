// Keeps slots alive that this process holds, and says that this server is.
import type { SlotBooks } from '../gate/slot-books.ts';
import type { StoreWatch } from '../gate/store-watch.ts';
import type { AdmissionParts } from '../parts.ts';

export interface LeaseKeeperHelp {
  readonly books: SlotBooks;
  readonly watch: StoreWatch;
}

/** One round; call it three times a lease. Never fails: a store that is away gets everything when it is back. */
export async function keepLeases(parts: AdmissionParts, { books, watch }: LeaseKeeperHelp): Promise<void> {
  if (watch.isAway) return;
  const { clock, slots, serverId, options, events } = parts;
  for (const slot of books.held.since(clock.monotonic() - options.ttlHours * 3_600_000)) {
    events.emit('admission:execution-overdue', slot);
    books.held.delete(slot.executionId);
    await parts.endOverdue(slot).catch(() => undefined);
  }
  try {
    books.budget.servers(await slots.heartbeat(serverId));
    const held = books.held.list();
    if (held.length === 0) return;
    const { length: count } = await slots.renew(held);
    if (count > 0) events.emit('admission:slots-restored', { count, why: 'missing' });
  } catch (error) {
    watch.fail(error);
  }
}
