// Simulated upstreams for the command line. Loaded when called: most commands never need them.
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { CoreError, messageOf } from '../core/index.ts';
import type { LookerSimulator, LookerSimulatorOptions } from '../simulators/looker/types.ts';
import type { ModelsSimulator } from '../simulators/models/simulator.ts';

export type { ModelsSimulator } from '../simulators/models/simulator.ts';
export { faultNames, retryAfterStyles, simulatedTypes } from '../simulators/looker/types.ts';
export type {
  FaultName,
  FaultSetting,
  LookerSimulator,
  LookerSimulatorOptions,
  PermanentFailure,
  SimulatedType,
} from '../simulators/looker/types.ts';

/** See `startLookerSimulator` in `simulators/looker`. */
export async function simulateLooker(options: LookerSimulatorOptions): Promise<LookerSimulator> {
  const { startLookerSimulator } = await import('../simulators/looker/server.ts');
  return startLookerSimulator(options);
}

export interface SimulatedModels {
  readonly simulator: ModelsSimulator;
  readonly providers: readonly {
    readonly name: string;
    readonly keys: readonly string[];
    readonly models: readonly string[];
  }[];
}

/** Simulated AI providers, configured by a YAML or JSON file. Fails with INPUT_INVALID, naming every problem. */
export async function simulateModels(options: {
  readonly port: number;
  readonly scenarioFile: string;
}): Promise<SimulatedModels> {
  const [{ readScenario }, { startModelsSimulator }] = await Promise.all([
    import('../simulators/models/scenario.ts'),
    import('../simulators/models/simulator.ts'),
  ]);
  const scenario = readScenario(await contentOf(options.scenarioFile));
  const simulator = await startModelsSimulator({ scenario, port: options.port });
  const providers = scenario.providers.map(({ name, keys, models }) => ({
    name,
    keys,
    models: models.map((model) => model.name),
  }));
  return { simulator, providers };
}

async function contentOf(file: string): Promise<unknown> {
  try {
    return parse(await readFile(file, 'utf8')) as unknown;
  } catch (error) {
    const why = messageOf(error).split('\n')[0] ?? '';
    throw new CoreError('INPUT_INVALID', `The scenario ${file} cannot be read: ${why}.`, { cause: error });
  }
}
