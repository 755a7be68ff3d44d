// Admission: concurrent requests, limited per organization and globally.
export { AdmissionError, admissionErrorCodes } from '../errors.ts';
export type { AdmissionErrorCode } from '../errors.ts';
export { admissionOptions, maxLimit } from '../options.ts';
export type { AdmissionOptions } from '../options.ts';
export { admissionEvents } from './events.ts';
export type { AdmissionEvents } from './events.ts';
export type { AdmissionController } from './admission-controller.ts';
export type { LimitAdministration, LimitService, LimitUsage, LimitView } from './limits.ts';
export { MemorySlotStore } from './memory-slot-store.ts';
export { alertRules } from './monitoring.ts';
export type { Alert } from './monitoring.ts';
export { openAdmission, redisDownKind } from './open-admission.ts';
export type { OpenAdmission } from './open-admission.ts';
export type { StoreHealth } from './store-health.ts';
export type * from './types.ts';
