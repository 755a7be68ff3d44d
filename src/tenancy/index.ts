// Tenancy: organizations, their deployments and executions, and the limits of concurrent requests.
export type { LimitAdministration, LimitView } from './admission/limits.ts';
export type * from './admission/types.ts';
export { AdmissionError, admissionErrorCodes, DeploymentError, deploymentErrorCodes } from './errors.ts';
export * from './events.ts';
export type { DeploymentService } from './deployments/deployments.ts';
export type { ExecutionService } from './executions/executions.ts';
export { executionJobName } from './executions/executions.ts';
export { toTenantView } from './errors.ts';
export type {
  DeploymentRef,
  ExecutionStarter,
  PendingExecution,
  UploadLimits,
} from './executions/start-execution.ts';
export * from './executions/types.ts';
export { openTenancy } from './open-tenancy.ts';
export type { ApiKeyService } from './organizations/api-keys.ts';
export type { OrganizationService } from './organizations/organizations.ts';
export * from './types.ts';
export type * from './workflows/workflow.ts';
