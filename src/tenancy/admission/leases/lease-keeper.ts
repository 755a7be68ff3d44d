// Keeps slots alive that this process holds, and says that this server is.
import type { SlotBooks } from '../gate/slot-books.ts';
import type { StoreWatch } from '../gate/store-watch.ts';
import type { AdmissionParts } from '../parts.ts';

export interface LeaseKeeperHelp {
  readonly books: SlotBooks;
  readonly watch: StoreWatch;
}

/** Says that this server is alive, and hears how many are; call it every few seconds. Never fails. */
export async function sayAlive(
  { slots, serverId }: AdmissionParts,
  { books, watch }: LeaseKeeperHelp,
): Promise<void> {
  if (watch.isAway || serverId === null) return;
  try {
    books.alive(await slots.heartbeat(serverId));
  } catch (error) {
    watch.fail(error);
  }
}

/** One round; call it three times a lease. Never fails: a store that is away gets everything when it is back. */
export async function keepLeases(parts: AdmissionParts, { books, watch }: LeaseKeeperHelp): Promise<void> {
  if (watch.isAway) return;
  const { clock, slots, options, events } = parts;
  for (const slot of books.held.since(clock.monotonic() - options.ttlHours * 3_600_000)) {
    events.emit('admission:execution-overdue', slot);
    books.held.delete(slot.executionId);
    await parts.endOverdue(slot).catch(() => undefined);
  }
  const held = books.held.list();
  if (held.length === 0) return;
  try {
    const { length: count } = await slots.renew(held);
    if (count > 0)
      events.emit('admission:slots-restored', { count, why: watch.isAway ? 'store-was-away' : 'missing' });
  } catch (error) {
    watch.fail(error);
  }
}
