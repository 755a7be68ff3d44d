// The upstreams of the demo: a simulated Looker and AI providers, in this process, on the loopback interface.
import type { ExtractionSource, ExtractionSources } from '../../api/extraction.ts';
import type { Model } from '../../api/models.ts';
import { HeadworksError } from '../../core/index.ts';
import type { LookerSimulatorOptions } from '../../simulators/looker/types.ts';
import type { Scenario, SimulatedModel } from '../../simulators/models/index.ts';
import { knownNames, stuckLook } from './acme-company.ts';
import { acmeCounts, acmeItems, handoverChange } from './acme-looker.ts';
import type { DemoState } from './folder.ts';
import type { DemoContext, Upstreams } from './step.ts';

const lookerId = 'DEMO_LOOKER_CLIENT_ID';
const lookerSecret = 'DEMO_LOOKER_CLIENT_SECRET';
const credentials = { clientId: 'acme-extraction', clientSecret: 'acme-looker-secret' };

/** The registered source. Its rate limit is above Looker's, so that the limiter has to adapt. */
export const lookerSource = (url: string) => ({
  name: 'acme-looker',
  kind: 'looker',
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
export async function startUpstreams({ ports, done }: DemoState): Promise<Upstreams> {
  const [{ startLookerSimulator }, { startModelsSimulator }] = await Promise.all([
    import('../../simulators/looker/index.ts'),
    import('../../simulators/models/index.ts'),
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
  /** In the server's environment. */
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
  behavior: { knows: knownNames, quotas: { requestsPerMinute: 12 }, quotaHeaders: false },
};

/** Slower, and nearly always available. */
const atlas: DemoModel = {
  provider: 'atlas',
  model: 'large',
  key: 'sk-atlas-demo',
  latencyMs: 45,
  behavior: { knows: knownNames, faults: [{ fault: '500', probability: 0.04 }] },
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

/** Its key has expired. */
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
  knows: null,
  dimensions: 64,
  firstTokenMs: 0,
  tokenMs: 0,
  script: [],
  faults: [],
  quotas: {},
  quotaHeaders: true,
};

export const demoScenario: Scenario = {
  seed: 7,
  providers: demoModels.map(({ provider, model, key, acceptedKey, latencyMs, behavior }) => ({
    name: provider,
    keys: [acceptedKey ?? key],
    latencyMs,
    models: [{ ...modelDefaults, name: model, ...behavior }],
  })),
};

const variableOf = ({ provider }: DemoModel): string => `DEMO_${provider.toUpperCase()}_API_KEY`;

/** Provider keys in the environment of the demo's server. */
export const demoModelKeys: Readonly<Record<string, string>> = Object.fromEntries(
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

type UpstreamContext = Pick<DemoContext, 'client' | 'upstreams' | 'signal'>;

export async function ensureModels({ client, upstreams, signal }: UpstreamContext): Promise<number> {
  const query = { active_only: false };
  const known = await client.call<Model[]>('GET', '/api/v1/models', { query, signal });
  const bodies = modelBodies((provider) => upstreams.models.baseUrl(provider));
  for (const body of bodies) {
    const model = known.find(({ name }) => name === body.name);
    if (!model) await client.call('POST', '/api/v1/models', { body, signal });
    else if (!model.api_endpoint.startsWith(body.base_url))
      await client.call('PUT', `/api/v1/models/${model.id}`, { body, signal });
  }
  return bodies.length;
}

export async function ensureSource({
  client,
  upstreams,
  signal,
}: UpstreamContext): Promise<ExtractionSource> {
  const path = '/api/v1/extraction/sources';
  const body = lookerSource(upstreams.looker.url);
  const { sources } = await client.call<ExtractionSources>('GET', path, { signal });
  const source = sources.find(({ name }) => name === body.name);
  if (!source) return client.call('POST', path, { body, signal });
  if (source.kind === 'looker' && source.settings.base_url === body.settings.base_url) return source;
  return client.call('PATCH', `${path}/${source.id}`, { body: { settings: body.settings }, signal });
}
