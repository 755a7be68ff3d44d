// Deployments: workflows that organizations call, and what became of each call.
export * from './admission/index.ts';
export type * from './desk-ports.ts';
export * from './errors.ts';
export * from './ports.ts';
export { openTenants } from './open-tenants.ts';
export type { OpenTenants, OpenTenantsOptions } from './open-tenants.ts';
export { tenantEvents } from './tenant-events.ts';
export type { TenantEvents } from './tenant-events.ts';
export type { TenantStores, TenantTopic } from './tenant-stores.ts';
export { executionJobName } from './executions/execution-job.ts';
export { executionEvents } from './executions/events.ts';
export type { ExecutionEvents } from './executions/events.ts';
export { forTenant } from './executions/for-tenant.ts';
export { openExecutions } from './executions/open-executions.ts';
export type { OpenExecutions, OpenExecutionsParts } from './executions/open-executions.ts';
export { executionRetentionRules } from './executions/retention-rules.ts';
