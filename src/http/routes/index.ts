// Every route of the server, area by area.
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { HttpLimits } from '../limits.ts';
import type { HttpDependencies } from '../ports.ts';
import { alertRoutes } from './alerts.ts';
import { artifactStatusRoutes } from './artifact-statuses.ts';
import { artifactRoutes } from './artifacts.ts';
import { auditRoutes } from './audit.ts';
import { dashboardRoutes } from './dashboard.ts';
import { deploymentRoutes } from './deployments.ts';
import { tenantRoutes } from '../tenant-api/routes.ts';
import { entityRoutes } from './entities.ts';
import { eventRoutes } from './events.ts';
import { executionRoutes } from './executions.ts';
import { extractionRoutes } from './extraction.ts';
import { healthRoutes } from './health.ts';
import { gatewayKeyRoutes } from './gateway-keys.ts';
import { jobRoutes } from './jobs.ts';
import { knowledgeEventRoutes } from './knowledge-events.ts';
import { knowledgeGraphRoutes } from './knowledge-graph.ts';
import { ledgerRoutes } from './ledger.ts';
import { limitRoutes } from './limits.ts';
import { mcpRoutes } from './mcp.ts';
import { modelRoutes } from './models.ts';
import { vaultRoutes } from './vaults.ts';
import { openAiRoutes } from './openai.ts';
import { operationRoutes } from './operations.ts';
import { organizationRoutes } from './organizations.ts';
import { overviewRoutes } from './overview.ts';
import { presenceRoutes } from './presence.ts';
import { promptRoutes } from './prompts.ts';
import { searchRoutes } from './search.ts';
import { spaceRoutes } from './spaces.ts';
import { folderRoutes } from './folders.ts';

export function registerRoutes(
  server: FastifyInstance,
  dependencies: HttpDependencies,
  limits: HttpLimits,
): void {
  const typed = server.withTypeProvider<ZodTypeProvider>();
  healthRoutes(typed, dependencies);
  operationRoutes(typed, dependencies);
  eventRoutes(typed, dependencies, limits);
  ledgerRoutes(typed, dependencies);
  jobRoutes(typed, dependencies);
  extractionRoutes(typed, dependencies);
  vaultRoutes(typed, dependencies);
  modelRoutes(typed, dependencies);
  promptRoutes(typed, dependencies);
  gatewayKeyRoutes(typed, dependencies);
  openAiRoutes(typed, dependencies);
  organizationRoutes(typed, dependencies);
  deploymentRoutes(typed, dependencies);
  tenantRoutes(typed, dependencies);
  executionRoutes(typed, dependencies);
  limitRoutes(typed, dependencies);
  alertRoutes(typed, dependencies);
  spaceRoutes(typed, dependencies);
  folderRoutes(typed, dependencies);
  artifactRoutes(typed, dependencies);
  artifactStatusRoutes(typed, dependencies);
  knowledgeEventRoutes(typed, dependencies);
  knowledgeGraphRoutes(typed, dependencies);
  entityRoutes(typed, dependencies);
  searchRoutes(typed, dependencies);
  auditRoutes(typed, dependencies);
  presenceRoutes(typed, dependencies);
  overviewRoutes(typed, dependencies);
  dashboardRoutes(typed, dependencies);
  mcpRoutes(typed, dependencies, limits);
}
