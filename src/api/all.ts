// Every resource of the HTTP API, by name. Types only, so that clients load nothing.
import type { artifactsApi } from './artifacts.ts';
import type { deploymentsApi } from './deployments.ts';
import type { entitiesApi } from './entities.ts';
import type { executionsApi } from './executions.ts';
import type { runsApi, sourcesApi, vaultsApi } from './extraction.ts';
import type { jobsApi } from './jobs.ts';
import type { keysApi } from './keys.ts';
import type { eventsApi, graphApi, searchApi } from './knowledge.ts';
import type { ledgerApi } from './ledger.ts';
import type { alertsApi, limitsApi } from './limits.ts';
import type { modelsApi } from './models.ts';
import type { organizationsApi } from './organizations.ts';
import type { dashboardApi, overviewApi } from './overview.ts';
import type { promptsApi } from './prompts.ts';
import type { healthApi, serverApi, streamsApi } from './server.ts';
import type { foldersApi, spacesApi } from './spaces.ts';

export interface Api {
  readonly alerts: typeof alertsApi;
  readonly artifacts: typeof artifactsApi;
  readonly dashboard: typeof dashboardApi;
  readonly deployments: typeof deploymentsApi;
  readonly entities: typeof entitiesApi;
  readonly events: typeof eventsApi;
  readonly executions: typeof executionsApi;
  readonly folders: typeof foldersApi;
  readonly graph: typeof graphApi;
  readonly health: typeof healthApi;
  readonly jobs: typeof jobsApi;
  readonly keys: typeof keysApi;
  readonly ledger: typeof ledgerApi;
  readonly limits: typeof limitsApi;
  readonly models: typeof modelsApi;
  readonly organizations: typeof organizationsApi;
  readonly overview: typeof overviewApi;
  readonly prompts: typeof promptsApi;
  readonly runs: typeof runsApi;
  readonly search: typeof searchApi;
  readonly server: typeof serverApi;
  readonly sources: typeof sourcesApi;
  readonly spaces: typeof spacesApi;
  readonly streams: typeof streamsApi;
  readonly vaults: typeof vaultsApi;
}
