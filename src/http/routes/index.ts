// Every route of the server, area by area.
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { HttpLimits } from '../limits.ts';
import type { HttpDependencies } from '../ports.ts';
import { auditRoutes } from './audit.ts';
import { eventRoutes } from './events.ts';
import { extractionRoutes } from './extraction.ts';
import { healthRoutes } from './health.ts';
import { gatewayKeyRoutes } from './gateway-keys.ts';
import { jobRoutes } from './jobs.ts';
import { ledgerRoutes } from './ledger.ts';
import { modelRoutes } from './models.ts';
import { openAiRoutes } from './openai.ts';
import { operationRoutes } from './operations.ts';
import { presenceRoutes } from './presence.ts';
import { promptRoutes } from './prompts.ts';

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
  modelRoutes(typed, dependencies);
  promptRoutes(typed, dependencies);
  gatewayKeyRoutes(typed, dependencies);
  openAiRoutes(typed, dependencies);
  auditRoutes(typed, dependencies);
  presenceRoutes(typed, dependencies);
}
