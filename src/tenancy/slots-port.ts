// What deployments needs of admission. The composition root plugs it in.

export interface Slot {
  readonly organizationId: string;
  readonly executionId: string;
}

/** `work`: slots of the same deployment are held about as long, from which refused callers learn when to come back. */
export interface SlotForWork extends Slot {
  readonly work: string;
}

/** Exactly one of `letGo` and `release` follows each admission. See admission's own words. */
export interface SlotKeeper {
  /** Waits up to `waitMs`. Fails when there is none to be had. */
  admit(request: SlotForWork & { readonly waitMs: number; readonly signal: AbortSignal }): Promise<unknown>;
  /** This process runs the execution: keeps its slot alive. */
  hold(slot: SlotForWork): void;
  letGo(slot: Slot): void;
  /** Never fails. */
  release(slot: Slot): Promise<void>;
}
