// What the demo talks to instead of the world: a Looker and AI providers, in this process, on the loopback interface.
import { HeadworksError } from '../../core/index.ts';
import type { LookerSimulator, LookerSimulatorOptions } from '../../simulators/looker/types.ts';
import type { ModelsSimulator } from '../../simulators/models/ports.ts';
import { acmeCounts, acmeItems, handoverChange } from './acme-estate.ts';
import { stuckLook } from './acme-reports.ts';
import type { DemoMemory } from './demo-folder.ts';
import { demoModelKeys, demoScenario } from './demo-models.ts';

export interface DemoWorld {
  readonly looker: LookerSimulator;
  readonly models: ModelsSimulator;
  readonly ports: DemoMemory['ports'];
  stop(): Promise<void>;
}

const lookerId = 'DEMO_LOOKER_CLIENT_ID';
const lookerSecret = 'DEMO_LOOKER_CLIENT_SECRET';
const credentials = { clientId: 'acme-extraction', clientSecret: 'acme-looker-secret' };

/** The whole environment of the demo's server. */
export const demoEnvironment: Readonly<Record<string, string>> = {
  ...demoModelKeys,
  [lookerId]: credentials.clientId,
  [lookerSecret]: credentials.clientSecret,
};

/** What the server is told of the Looker. It may ask faster than Looker likes, so that the limiter has to adapt. */
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
 * Listens where it did before, or, where that is taken, anywhere, and is as it was left: extractions that were
 * interrupted go on as soon as the server is there. Fails with PORT_UNAVAILABLE.
 */
export async function startDemoWorld({ ports, done }: DemoMemory): Promise<DemoWorld> {
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
