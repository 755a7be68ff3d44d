// What deployments needs of admission. The composition root plugs it in.

export interface Slot {
  readonly organizationId: string;
  readonly executionId: string;
}

/** Exactly one of `letGo` and `release` follows each admission. See admission's own words. */
export interface SlotKeeper {
  /** Waits up to `waitMs`. Fails when there is none to be had. */
  admit(request: Slot & { readonly waitMs: number; readonly signal: AbortSignal }): Promise<unknown>;
  /** This process runs the execution: keeps its slot alive. */
  hold(slot: Slot): void;
  letGo(slot: Slot): void;
  /** Never fails. */
  release(slot: Slot): Promise<void>;
}
