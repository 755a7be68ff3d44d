// Retention: one job, one rule per kind of row that would grow for ever.
export { houseRules } from './house-rules.ts';
export type { HouseStores } from './house-rules.ts';
export { purgeFailedKind, purgeRepair, runRetention } from './retention.ts';
export type { RetentionParts, RetentionReport, RetentionRun } from './retention.ts';
export { retentionEvents, showRetentionFailures } from './retention-events.ts';
export type { RetentionEvents } from './retention-events.ts';
export { retentionHandler, retentionJob } from './retention-job.ts';
export type { RetentionRule } from './retention-rule.ts';
