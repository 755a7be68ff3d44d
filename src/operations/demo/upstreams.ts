// The upstreams of the demo: a simulated Looker with the dashboards of Acme Retail, and simulated AI providers.
import { HeadworksError } from '../../core/index.ts';
import type { ContentChange, LookerSimulatorOptions, WrittenItems } from '../../simulators/looker/types.ts';
import type { Scenario, SimulatedModel } from '../../simulators/models/scenario.ts';
import type { FolderName, PersonKey, Report, Tile } from './acme-company.ts';
import {
  dashboards,
  explores,
  folders,
  fullName,
  handover,
  knownNames,
  looks,
  net,
  people,
  personKeys,
  stuckLook,
} from './acme-company.ts';
import type { DemoState } from './folder.ts';

type Item = Readonly<Record<string, unknown>>;

const idOf = (index: number): string => String(index + 1);
const indexOfFolder = (name: FolderName): number => folders.findIndex(([each]) => each === name);

function folderFacts(index: number): Item {
  const [name = '', parent = null] = folders[index] ?? [];
  return {
    id: idOf(index),
    name,
    parent_id: parent === null ? null : idOf(parent),
    child_count: folders.filter(([, above]) => above === index).length,
    is_shared_root: parent === null,
  };
}

function ownerFacts(owner: PersonKey): Item {
  const { written, hasLeft } = people[owner];
  const id = idOf(personKeys.indexOf(owner));
  return { user_id: id, last_updater_id: id, user_name: written, is_owner_disabled: hasLeft === true };
}

function queryFacts([, explore, fields]: Tile): Item {
  const [model = '', view = ''] = explore.split('::');
  return {
    model,
    view,
    fields: fields.map((field) => `${view}.${field}`),
    filters: { [`${view}.created_date`]: '90 days' },
  };
}

/** One change per day in October. */
const changedAt = (index: number): string =>
  `2026-10-${String(index + 1).padStart(2, '0')}T09:00:00.000+00:00`;

const reportFacts = ({ title, owner, folder, description, views }: Report, index: number): Item => ({
  title,
  description,
  view_count: views,
  folder: folderFacts(indexOfFolder(folder)),
  folder_id: idOf(indexOfFolder(folder)),
  ...ownerFacts(owner),
  created_at: '2025-03-03T09:00:00.000+00:00',
  updated_at: changedAt(index),
  last_accessed_at: changedAt(index),
  last_viewed_at: changedAt(index),
});

const dashboard = (made: Report, index: number): Item => ({
  ...reportFacts(made, index),
  dashboard_elements: made.tiles.map((tile, nth) => ({
    id: `${idOf(index)}0${nth}`,
    title: tile[0],
    type: 'vis',
    note_text: tile[3] ?? null,
    query: queryFacts(tile),
  })),
});

function look(made: Report, index: number): Item {
  const query = queryFacts(made.tiles[0] ?? net);
  return { ...reportFacts(made, index), model: { id: query['model'], label: query['model'] }, query };
}

function user(key: PersonKey): Item {
  const { first, last, email, hasLeft } = people[key];
  return {
    first_name: first,
    last_name: last,
    display_name: fullName(people[key]),
    email,
    credentials_email: { email, is_disabled: hasLeft === true, type: 'email' },
    is_disabled: hasLeft === true,
  };
}

/** The written items; the simulator generates the rest. */
const acmeItems: WrittenItems = {
  dashboards: dashboards.map(dashboard),
  looks: looks.map(look),
  folders: folders.map((_, index) => folderFacts(index)),
  users: personKeys.map(user),
  groups: ['Finance', 'Sales Ops', 'SalesOps', 'Data Platform', 'Marketing', 'Stores BI'].map((name) => ({
    name,
  })),
  explores: explores.map((description) => ({ description })),
};

/** The dashboard that gets a new owner. */
export const handoverId = idOf(dashboards.findIndex(({ title }) => title === handover.title));

/** The change between the two extractions. Idempotent. */
export const handoverChange: ContentChange = {
  type: 'dashboards',
  write: {
    [handoverId]: { ...ownerFacts(handover.to), updated_at: handover.at },
  },
};

const acmeCounts = {
  lookml_models: 4,
  lookml_dashboards: 3,
  boards: 3,
  roles: 4,
  permission_sets: 3,
  model_sets: 2,
  scheduled_plans: 8,
} as const;

const lookerId = 'DEMO_LOOKER_CLIENT_ID';
const lookerSecret = 'DEMO_LOOKER_CLIENT_SECRET';
const credentials = { clientId: 'acme-extraction', clientSecret: 'acme-looker-secret' };

/** The registered source. Its rate limit is above Looker's, so that the limiter has to adapt. */
export const lookerSource = (url: string) => ({
  name: 'acme-looker',
  kind: 'looker' as const,
  settings: { base_url: url, client_id_env: lookerId, client_secret_env: lookerSecret },
  options: {
    batch_size: 10,
    rate_limit_per_second: 20,
    rate_limit_per_minute: 600,
    retries: 2,
    retry_delay_ms: 100,
  },
});

const lookerOptions: LookerSimulatorOptions = {
  ...credentials,
  written: acmeItems,
  items: acmeCounts,
  pageLimit: 10,
  latencyMs: 40,
  rateLimits: { perSecond: 14 },
  failures: [{ type: 'looks', id: stuckLook, status: 500 }],
};

/**
 * Listens on the ports of the last start, or on free ones, and restores the state of the completed steps: interrupted
 * extractions continue as soon as the server runs. Fails with PORT_UNAVAILABLE.
 */
export async function startUpstreams({ ports, done }: Pick<DemoState, 'ports' | 'done'>) {
  const [{ startLookerSimulator }, { startModelsSimulator }] = await Promise.all([
    import('../../simulators/looker/server.ts'),
    import('../../simulators/models/simulator.ts'),
  ]);
  const looker = await onPort(ports.looker, (port) => startLookerSimulator({ ...lookerOptions, port }));
  try {
    if (done.includes('extraction')) looker.change(handoverChange);
    if (done.includes('changes')) looker.configure({ failures: [] });
    const models = await onPort(ports.models, (port) =>
      startModelsSimulator({ scenario: demoScenario, port }),
    );
    return {
      looker,
      models,
      ports: { looker: portOf(looker.url), models: portOf(models.url) },
      stop: async () => void (await Promise.all([looker.stop(), models.stop()])),
    };
  } catch (error) {
    await looker.stop();
    throw error;
  }
}

async function onPort<T>(port: number, start: (port: number) => Promise<T>): Promise<T> {
  try {
    return await start(port);
  } catch (error) {
    const isTaken = error instanceof HeadworksError && error.code === 'PORT_UNAVAILABLE';
    if (!isTaken || port === 0) throw error;
    return start(0);
  }
}

const portOf = (url: string): number => Number(new URL(url).port);

interface DemoModel {
  readonly provider: string;
  readonly model: string;
  /** The key in the server's environment. */
  readonly key: string;
  readonly latencyMs: number;
  /** The key that the provider accepts; default: the one above. */
  readonly acceptedKey?: string;
  readonly behavior: Partial<SimulatedModel>;
  readonly capabilities?: Readonly<Record<string, boolean>>;
}

/** Fast and good, until its 12 calls per minute are used; then it returns 429 with a retry time. */
const nimbus: DemoModel = {
  provider: 'nimbus',
  model: 'flash',
  key: 'sk-nimbus-demo',
  latencyMs: 15,
  behavior: { entities: knownNames, quotas: { requests_per_minute: 12 }, quota_headers: false },
};

/** Slower, and nearly always available. */
const atlas: DemoModel = {
  provider: 'atlas',
  model: 'large',
  key: 'sk-atlas-demo',
  latencyMs: 45,
  behavior: { entities: knownNames, faults: [{ fault: '500', probability: 0.04 }] },
};

/** The fastest, and useless after its first response: malformed and empty responses, errors. */
const quartz: DemoModel = {
  provider: 'quartz',
  model: 'mini',
  key: 'sk-quartz-demo',
  latencyMs: 5,
  behavior: {
    faults: [
      { fault: 'malformed', probability: 0.4 },
      { fault: 'empty', probability: 0.5 },
      { fault: '503', probability: 1 },
    ],
  },
};

/** A model whose key has expired. */
const harbor: DemoModel = {
  provider: 'harbor',
  model: 'classic',
  key: 'sk-harbor-expired',
  acceptedKey: 'sk-harbor-renewed',
  latencyMs: 10,
  behavior: {},
};

/** Slow, so that slots are in use; without JSON mode, so that it is not used for reading. */
const atelier: DemoModel = {
  provider: 'atelier',
  model: 'drafts',
  key: 'sk-atelier-demo',
  latencyMs: 2_000,
  behavior: {},
  capabilities: { json: false },
};

const demoModels: readonly DemoModel[] = [nimbus, atlas, quartz, harbor, atelier];

/** The models that read documents. */
export const readingModels: readonly Pick<DemoModel, 'provider' | 'model'>[] = [nimbus, atlas];

export const nameOf = ({ provider, model }: Pick<DemoModel, 'provider' | 'model'>): string =>
  `${provider}/${model}`;

/** Responds once, then fails. */
export const unreliableModel: Pick<DemoModel, 'provider' | 'model'> = quartz;

export const reliableModel = nameOf(atlas);
export const slowModel = nameOf(atelier);

const modelDefaults: Omit<SimulatedModel, 'name'> = {
  kind: 'chat',
  entities: null,
  dimensions: 64,
  first_token_ms: 0,
  token_ms: 0,
  script: [],
  faults: [],
  quotas: {},
  quota_headers: true,
};

const demoScenario: Scenario = {
  seed: 7,
  providers: demoModels.map(({ provider, model, key, acceptedKey, latencyMs, behavior }) => ({
    name: provider,
    keys: [acceptedKey ?? key],
    latency_ms: latencyMs,
    models: [{ ...modelDefaults, name: model, ...behavior }],
  })),
};

const variableOf = ({ provider }: DemoModel): string => `DEMO_${provider.toUpperCase()}_API_KEY`;

/** Provider keys in the environment of the demo's server. */
const demoModelKeys: Readonly<Record<string, string>> = Object.fromEntries(
  demoModels.map((each) => [variableOf(each), each.key]),
);

/** The complete environment of the demo's server: keys of the user are not used. */
export const demoEnvironment: Readonly<Record<string, string>> = {
  ...demoModelKeys,
  [lookerId]: credentials.clientId,
  [lookerSecret]: credentials.clientSecret,
};

/** Request bodies that register the models. */
export const modelBodies = (baseUrl: (provider: string) => string) =>
  demoModels.map((each) => ({
    name: nameOf(each),
    provider: each.provider,
    model: each.model,
    base_url: baseUrl(each.provider),
    env_var: variableOf(each),
    capabilities: each.capabilities,
  }));

/** The simulators that the demo's server uses. */
export type Upstreams = Awaited<ReturnType<typeof startUpstreams>>;
