// Every route of the server, resource by resource.
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { ServerDeps } from '../deps.ts';
import type { HttpLimits } from '../limits.ts';
import { artifactRoutes } from './artifacts.ts';
import { dashboardRoutes } from './dashboard.ts';
import { deploymentRoutes } from './deployments.ts';
import { tenantRoutes } from '../tenant-api/routes.ts';
import { entityRoutes } from './entities.ts';
import { executionRoutes } from './executions.ts';
import { extractionRoutes } from './extraction.ts';
import { jobRoutes } from './jobs.ts';
import { gatewayKeyRoutes } from './keys.ts';
import { knowledgeRoutes } from './knowledge.ts';
import { ledgerRoutes } from './ledger.ts';
import { limitRoutes } from './limits.ts';
import { mcpRoutes } from './mcp.ts';
import { modelRoutes } from './models.ts';
import { openAiRoutes } from './openai.ts';
import { organizationRoutes } from './organizations.ts';
import { overviewRoutes } from './overview.ts';
import { promptRoutes } from './prompts.ts';
import { serverRoutes } from './server.ts';
import { spaceRoutes } from './spaces.ts';
import { streamRoutes } from './streams.ts';

export function registerRoutes(server: FastifyInstance, dependencies: ServerDeps, limits: HttpLimits): void {
  const typed = server.withTypeProvider<ZodTypeProvider>();
  for (const register of [
    serverRoutes,
    streamRoutes,
    ledgerRoutes,
    jobRoutes,
    extractionRoutes,
    modelRoutes,
    promptRoutes,
    gatewayKeyRoutes,
    openAiRoutes,
    organizationRoutes,
    deploymentRoutes,
    tenantRoutes,
    executionRoutes,
    limitRoutes,
    spaceRoutes,
    artifactRoutes,
    knowledgeRoutes,
    entityRoutes,
    overviewRoutes,
    dashboardRoutes,
  ])
    register(typed, dependencies);
  mcpRoutes(typed, dependencies, limits);
}
