// What admission is made of; the composition root brings it.
import type { Clock, Emitter } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import type { AdmissionEvents } from './events.ts';
import type { AdmissionOptions } from './options.ts';
import type { ExecutionsView, LimitStore, Slot, SlotStore } from './ports.ts';

export interface AdmissionParts {
  readonly clock: Clock;
  readonly events: Emitter<AdmissionEvents>;
  readonly ledger: LedgerRecorder;
  readonly slots: SlotStore;
  readonly limits: LimitStore;
  readonly executions: ExecutionsView;
  readonly options: AdmissionOptions;
  /** Changes with every start. Null for a process that lets nobody in: it has no share while Redis is away. */
  readonly serverId: string | null;
  /** Where the slots are, for people: the address of Redis. */
  readonly storeName: string;
  /** Are slots counted here? Not in a process beside the one server that counts them in its own memory. */
  readonly countsSlots: boolean;
  /** An execution has held its slot for as long as it may: ends it, which frees the slot. */
  readonly endOverdue: (slot: Slot) => Promise<void>;
  /** Throws when nothing can be accepted at all, for example because the state store is away. */
  readonly checkReady: () => void;
}
