// The audit trail of administrative actions.
export type { AuditEntry, AuditPage, AuditRecord, AuditTrail } from './audit-trail.ts';
export { MemoryAuditTrail } from './memory-audit-trail.ts';
export { PostgresAuditTrail } from './postgres-audit-trail.ts';
