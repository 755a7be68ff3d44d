// The answers of the HTTP API as types, for the dashboard and the command line. Types only: nothing here runs.
import type { z } from 'zod';
import type { auditPage } from './schemas/audit.ts';
import type {
  acceptedAnswer,
  artifactsAnswer,
  artifactView,
  estimateAnswer,
  revisionsAnswer,
  statusesAnswer,
} from './schemas/artifacts.ts';
import type {
  entitiesAnswer,
  entityDetail,
  entityMergeView,
  entityPairView,
  entityView,
  reviewAnswer,
  undoneMergeView,
} from './schemas/entities.ts';
import type { executionAnswer, executionsAnswer, releasedAnswer } from './schemas/executions.ts';
import type {
  extractionRun,
  extractionRuns,
  extractionSource,
  extractionSources,
  runReport,
  runStarted,
} from './schemas/extraction.ts';
import type { loginLinkAnswer, sessionAnswer } from './schemas/dashboard.ts';
import type { deployment, deployments, deploymentWithSecret } from './schemas/deployments.ts';
import type { configAnswer, doctorAnswer, healthAnswer, readinessAnswer } from './schemas/health.ts';
import type { jobAnswer, jobCountsAnswer, jobsAnswer } from './schemas/jobs.ts';
import type { knowledgeEventsAnswer, knowledgeEventView } from './schemas/knowledge-events.ts';
import type { aroundAnswer, graphRebuildAnswer, graphStatusAnswer } from './schemas/knowledge-graph.ts';
import type {
  alertsAnswer,
  clearCacheAnswer,
  limitAnswer,
  limitChanged,
  limitsAnswer,
} from './schemas/limits.ts';
import type { gatewayKey, gatewayKeys, newGatewayKey, usageAnswer } from './schemas/gateway-keys.ts';
import type {
  newOrganizationKey,
  organization,
  organizationKey,
  organizationKeys,
  organizations,
} from './schemas/organizations.ts';
import type { flowAnswer, runSamples, tenantsOverview } from './schemas/overview.ts';
import type { handoverAnswer } from './schemas/presence.ts';
import type { promptAnswer } from './schemas/prompts.ts';
import type { addedFolderView, folderResultView, foldersAnswer } from './schemas/folders.ts';
import type { spacesAnswer, spaceView } from './schemas/spaces.ts';
import type { vaultData, vaultItem, vaultItems, vaultSummary } from './schemas/vaults.ts';
import type { searchAnswer } from './schemas/search.ts';
import type { streamedEvent } from './schemas/streams.ts';

export type { ErrorAnswer } from './schemas/error.ts';
export type HealthAnswer = z.infer<typeof healthAnswer>;
export type ReadinessAnswer = z.infer<typeof readinessAnswer>;
export type DoctorAnswer = z.infer<typeof doctorAnswer>;
export type ConfigAnswer = z.infer<typeof configAnswer>;
export type JobAnswer = z.infer<typeof jobAnswer>;
export type JobsAnswer = z.infer<typeof jobsAnswer>;
export type JobCountsAnswer = z.infer<typeof jobCountsAnswer>;
export type ExtractionSourceAnswer = z.infer<typeof extractionSource>;
export type ExtractionSourcesAnswer = z.infer<typeof extractionSources>;
export type ExtractionRunAnswer = z.infer<typeof extractionRun>;
export type ExtractionRunsAnswer = z.infer<typeof extractionRuns>;
export type ExtractionRunStarted = z.infer<typeof runStarted>;
export type ExtractionRunReport = z.infer<typeof runReport>;
export type GatewayKeyAnswer = z.infer<typeof gatewayKey>;
export type GatewayKeysAnswer = z.infer<typeof gatewayKeys>;
export type NewGatewayKeyAnswer = z.infer<typeof newGatewayKey>;
export type OrganizationAnswer = z.infer<typeof organization>;
export type OrganizationsAnswer = z.infer<typeof organizations>;
export type OrganizationKeyAnswer = z.infer<typeof organizationKey>;
export type OrganizationKeysAnswer = z.infer<typeof organizationKeys>;
export type NewOrganizationKeyAnswer = z.infer<typeof newOrganizationKey>;
export type DeploymentAnswer = z.infer<typeof deployment>;
export type DeploymentsAnswer = z.infer<typeof deployments>;
export type DeploymentWithSecretAnswer = z.infer<typeof deploymentWithSecret>;
export type ExecutionAnswer = z.infer<typeof executionAnswer>;
export type ExecutionsAnswer = z.infer<typeof executionsAnswer>;
export type ReleasedSlotAnswer = z.infer<typeof releasedAnswer>;
export type LimitAnswer = z.infer<typeof limitAnswer>;
export type LimitChanged = z.infer<typeof limitChanged>;
export type LimitsAnswer = z.infer<typeof limitsAnswer>;
export type LimitCacheCleared = z.infer<typeof clearCacheAnswer>;
export type AlertsAnswer = z.infer<typeof alertsAnswer>;
export type PromptAnswer = z.infer<typeof promptAnswer>;
export type UsageAnswer = z.infer<typeof usageAnswer>;
export type GraphStatusAnswer = z.infer<typeof graphStatusAnswer>;
export type GraphRebuildAnswer = z.infer<typeof graphRebuildAnswer>;
export type GraphAroundAnswer = z.infer<typeof aroundAnswer>;
export type SearchResultsAnswer = z.infer<typeof searchAnswer>;
export type AuditPage = z.infer<typeof auditPage>;
export type EntityAnswer = z.infer<typeof entityView>;
export type EntityDetailAnswer = z.infer<typeof entityDetail>;
export type EntitiesAnswer = z.infer<typeof entitiesAnswer>;
export type EntityMergeAnswer = z.infer<typeof entityMergeView>;
export type UndoneMergeAnswer = z.infer<typeof undoneMergeView>;
export type EntityPairAnswer = z.infer<typeof entityPairView>;
export type EntityReviewAnswer = z.infer<typeof reviewAnswer>;
export type SpaceAnswer = z.infer<typeof spaceView>;
export type SpacesAnswer = z.infer<typeof spacesAnswer>;
export type FolderAnswer = z.infer<typeof addedFolderView>;
export type FolderResultAnswer = z.infer<typeof folderResultView>;
export type FoldersAnswer = z.infer<typeof foldersAnswer>;
export type AcceptedAnswer = z.infer<typeof acceptedAnswer>;
export type IngestEstimateAnswer = z.infer<typeof estimateAnswer>;
export type ArtifactAnswer = z.infer<typeof artifactView>;
export type ArtifactsAnswer = z.infer<typeof artifactsAnswer>;
export type ArtifactStatusesAnswer = z.infer<typeof statusesAnswer>;
export type RevisionsAnswer = z.infer<typeof revisionsAnswer>;
export type KnowledgeEventAnswer = z.infer<typeof knowledgeEventView>;
export type KnowledgeEventsAnswer = z.infer<typeof knowledgeEventsAnswer>;
export type LoginLinkAnswer = z.infer<typeof loginLinkAnswer>;
export type DashboardSessionAnswer = z.infer<typeof sessionAnswer>;
export type FlowAnswer = z.infer<typeof flowAnswer>;
export type RunSamplesAnswer = z.infer<typeof runSamples>;
export type TenantsOverviewAnswer = z.infer<typeof tenantsOverview>;
export type VaultSummaryAnswer = z.infer<typeof vaultSummary>;
export type VaultItemsAnswer = z.infer<typeof vaultItems>;
export type VaultItemAnswer = z.infer<typeof vaultItem>;
export type VaultDataAnswer = z.infer<typeof vaultData>;
export type HandoverAnswer = z.infer<typeof handoverAnswer>;
/** The `data` of every event on the live stream. */
export type StreamedEventData = z.infer<typeof streamedEvent>;
