// Resolution: mentions find their entities, entities are merged and parted, what fell back is repaired.
export { EntityResolver } from './entity-resolver.ts';
export { entityRepairs, repairOfEntity, type EntityRepairs } from './entity-repairs.ts';
export type { RepairParts } from './look-again.ts';
export { normalizeName, visibleName } from './normalize-name.ts';
export { openEntityDesk, type EntityDeskParts } from './open-entity-desk.ts';
export { resolutionLedgerKinds } from './report-fallbacks.ts';
export type { ResolutionParts, ResolutionWatch } from './resolution-parts.ts';
export type { EntityStore, MergeStore, PairStore } from './store-ports.ts';
