// What the HTTP API uses of operations. Types only: nothing here loads a store.
export type { Alert } from './alerts/alert-monitor.ts';
export type { Activity, RunSample } from './activity.ts';
export type { AuditRecord, AuditTrail } from './audit.ts';
export type { BackupService } from './backup/backup-service.ts';
export type { DoctorReport } from './checks/check.ts';
export type { DashboardAsset, DashboardFiles, DashboardLogins } from './dashboard.ts';
export type { ReadinessReport } from './readiness.ts';
