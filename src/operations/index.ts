// What the HTTP API shows of operations. Types only: nothing here loads a store.
export type { Activity, ActivityCounts, MinuteCounts, RunSample, TenantActivity } from './activity.ts';
export type { AuditEntry, AuditPage, AuditRecord, AuditTrail } from './audit.ts';
export type { BackupService } from './backup/backup-service.ts';
export type { DoctorCheck, DoctorReport } from './checks/check.ts';
export type { DashboardAsset, DashboardFiles, DashboardLogins } from './dashboard.ts';
export type { CapabilityReport, DependencyReport, ReadinessReport } from './readiness.ts';
