// Admission: concurrent requests to deployments, limited per organization and in all.
export { alertRules } from './alerts/alert-rules.ts';
export type * from './desk-ports.ts';
export * from './errors.ts';
export { admissionEvents } from './events.ts';
export type { AdmissionEvents } from './events.ts';
export { admissionGauges } from './gauges.ts';
export { redisAwayKind } from './gate/redis-away.ts';
export type { SlotGate } from './gate/slot-gate.ts';
export { openAdmission } from './open-admission.ts';
export type { OpenAdmission } from './open-admission.ts';
export { admissionOptions, largestLimit } from './options.ts';
export type { AdmissionOptions } from './options.ts';
export type { AdmissionParts } from './parts.ts';
export * from './ports.ts';
export { MemorySlotStore } from './slots/memory-slot-store.ts';
