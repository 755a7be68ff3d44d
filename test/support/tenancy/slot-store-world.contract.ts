// Setup shared by the parts of the slot store contract.
import type { SlotDecision, SlotStore } from '../../../src/tenancy/admission/types.ts';

export const slotStoreSettings = { leaseSeconds: 60, cacheTtlSeconds: 600 };

/** A second more than the lease, for adapters that count whole seconds. */
export const leaseMs = slotStoreSettings.leaseSeconds * 1_000;
export const overLeaseMs = leaseMs + 1_500;
export const halfLeaseMs = leaseMs / 2;

export interface SlotStoreWorld {
  readonly store: SlotStore;
  /** Advances time for everything in the store, on a virtual clock or by making it older. */
  readonly advance: (ms: number) => Promise<void>;
}

export type MakeSlotStore = () => Promise<SlotStoreWorld>;

/** An organization within its limit. */
export async function restored(make: MakeSlotStore): Promise<SlotStoreWorld> {
  const world = await make();
  await world.store.restore([]);
  return world;
}

/** Like admission: reads the limit when the store requires it. */
export async function acquireWith(
  store: SlotStore,
  organizationId: string,
  executionId: string,
  { limit = 20, globalLimit = 100 }: { readonly limit?: number; readonly globalLimit?: number } = {},
): Promise<SlotDecision> {
  const request = { organizationId, executionId, globalLimit };
  const first = await store.acquire(request);
  if (first.kind !== 'limit-unknown') return first;
  return await store.acquire({ ...request, limit: { value: limit, token: first.token } });
}

/** One after the other; returns the outcome of each. */
export async function take(
  store: SlotStore,
  organizationId: string,
  executionIds: readonly string[],
  limits = {},
): Promise<readonly string[]> {
  const kinds: string[] = [];
  for (const id of executionIds) kinds.push((await acquireWith(store, organizationId, id, limits)).kind);
  return kinds;
}

/** The token of a read of the limit that begins now. */
export async function token(store: SlotStore, organizationId = 'a'): Promise<string> {
  const answer = await store.acquire({ organizationId, executionId: 'asks', globalLimit: 100 });
  if (answer.kind !== 'limit-unknown') throw new Error(`A limit is cached: ${JSON.stringify(answer)}`);
  return answer.token;
}

/** All slots, then those of each. */
export async function used(
  store: SlotStore,
  ...organizationIds: readonly string[]
): Promise<readonly (number | undefined)[]> {
  const { global, organizations } = await store.usage(organizationIds);
  return [global, ...organizationIds.map((id) => organizations.get(id))];
}
