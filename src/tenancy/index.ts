// Tenancy: organizations, their deployments and executions, and the limits of concurrent requests.
export * from './admission/index.ts';
export { DeploymentError, deploymentErrorCodes } from './errors.ts';
export type { DeploymentErrorCode } from './errors.ts';
export { executionEvents, tenantEvents } from './events.ts';
export type { ExecutionEvents, TenantEvents } from './events.ts';
export type { DeploymentService } from './deployments/deployments.ts';
export type { ExecutionService } from './executions/executions.ts';
export { executionJobName } from './executions/executions.ts';
export { toTenantView } from './executions/failure.ts';
export type {
  DeploymentRef,
  ExecutionStarter,
  PendingExecution,
  UploadLimits,
} from './executions/start-execution.ts';
export * from './executions/types.ts';
export { openExecutions, openServerAdmission, openTenancy, openTenants } from './open-tenancy.ts';
export type { OpenExecutions, OpenTenancy, TenancyDeps, TenantServices } from './open-tenancy.ts';
export type { ApiKeyService } from './organizations/api-keys.ts';
export type { OrganizationService } from './organizations/organizations.ts';
export * from './types.ts';
export { openWorkflows } from './workflows/open-workflows.ts';
export { workflowNames } from './vocabulary.ts';
export type { WorkflowName } from './vocabulary.ts';
export type * from './workflows/workflow.ts';
