// The AI providers of the demo: who there is, how each behaves, and how the gateway hears of them.
import type { Scenario, SimulatedModel } from '../../simulators/models/types.ts';
import { knownNames } from './acme-people.ts';

interface DemoModel {
  readonly provider: string;
  readonly model: string;
  /** What the server's environment holds for it; the provider may think otherwise. */
  readonly key: string;
  readonly latencyMs: number;
  /** Keys that the provider takes; default: the one above. */
  readonly takes?: string;
  readonly behaves: Partial<SimulatedModel>;
  readonly capabilities?: Readonly<Record<string, boolean>>;
}

/** Reading is quick and good, until a dozen calls a minute are used up: only then it says so, and when to come back. */
const nimbus: DemoModel = {
  provider: 'nimbus',
  model: 'flash',
  key: 'sk-nimbus-demo',
  latencyMs: 15,
  behaves: { knows: knownNames, quotas: { requestsPerMinute: 12 }, quotaHeaders: false },
};

/** Slower, and nearly always there. */
const atlas: DemoModel = {
  provider: 'atlas',
  model: 'large',
  key: 'sk-atlas-demo',
  latencyMs: 45,
  behaves: { knows: knownNames, faults: [{ fault: '500', probability: 0.04 }] },
};

/** The quickest of all, and of no use, once it has answered the first question: half answers, empty ones, errors. */
const quartz: DemoModel = {
  provider: 'quartz',
  model: 'mini',
  key: 'sk-quartz-demo',
  latencyMs: 5,
  behaves: {
    faults: [
      { fault: 'malformed', probability: 0.4 },
      { fault: 'empty', probability: 0.5 },
      { fault: '503', probability: 1 },
    ],
  },
};

/** Its key ran out last year, and nobody has put the new one in. */
const harbor: DemoModel = {
  provider: 'harbor',
  model: 'classic',
  key: 'sk-harbor-expired',
  takes: 'sk-harbor-renewed',
  latencyMs: 10,
  behaves: {},
};

/** Writes drafts for tenants and takes its time, so that slots are in use; does not speak JSON, so it reads nothing. */
const atelier: DemoModel = {
  provider: 'atelier',
  model: 'drafts',
  key: 'sk-atelier-demo',
  latencyMs: 2_000,
  behaves: {},
  capabilities: { json: false },
};

const demoModels: readonly DemoModel[] = [nimbus, atlas, quartz, harbor, atelier];

/** Those that can read; a throttled evening is one at which both are at their limits. */
export const readingModels: readonly Pick<DemoModel, 'provider' | 'model'>[] = [nimbus, atlas];

export const nameOf = ({ provider, model }: Pick<DemoModel, 'provider' | 'model'>): string =>
  `${provider}/${model}`;

/** Answers the first who asks, and then nobody. */
export const fickleModel: Pick<DemoModel, 'provider' | 'model'> = quartz;

export const steadyModel = nameOf(atlas);
export const slowModel = nameOf(atelier);

const silentModel: Omit<SimulatedModel, 'name'> = {
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
  providers: demoModels.map(({ provider, model, key, takes, latencyMs, behaves }) => ({
    name: provider,
    keys: [takes ?? key],
    latencyMs,
    models: [{ ...silentModel, name: model, ...behaves }],
  })),
};

const variableOf = ({ provider }: DemoModel): string => `DEMO_${provider.toUpperCase()}_API_KEY`;

/** All that the demo's server gets of an environment: keys of yours stay outside. */
export const demoModelKeys: Readonly<Record<string, string>> = Object.fromEntries(
  demoModels.map((each) => [variableOf(each), each.key]),
);

/** What the server is told of them. */
export const modelBodies = (baseUrl: (provider: string) => string) =>
  demoModels.map((each) => ({
    name: nameOf(each),
    provider: each.provider,
    model: each.model,
    base_url: baseUrl(each.provider),
    env_var: variableOf(each),
    ...(each.capabilities ? { capabilities: each.capabilities } : {}),
  }));
