// Which kind of degradation is repaired by what. Filled once by the composition root.
import { LedgerError } from './errors.ts';
import type { Repair } from './ports.ts';

export interface RegisteredRepair {
  readonly kind: string;
  /** What the repair does, in one sentence, for help and operators. */
  readonly describe: string;
  readonly repair: Repair;
}

export class RepairRegistry {
  readonly #repairs = new Map<string, RegisteredRepair>();

  /** Fails with LEDGER_REPAIR_TAKEN when the kind has one already. */
  register(repair: RegisteredRepair): void {
    if (this.#repairs.has(repair.kind))
      throw new LedgerError('LEDGER_REPAIR_TAKEN', `Two repairs are registered for the kind ${repair.kind}.`);
    this.#repairs.set(repair.kind, repair);
  }

  get(kind: string): RegisteredRepair | undefined {
    return this.#repairs.get(kind);
  }

  list(): readonly RegisteredRepair[] {
    return [...this.#repairs.values()].sort((a, b) => (a.kind < b.kind ? -1 : 1));
  }
}
