// Simulated upstreams for the command line. Loaded when called: most commands never need them.
import type { LookerSimulator, LookerSimulatorOptions } from '../simulators/looker/ports.ts';

export { faultNames, retryAfterStyles, simulatedTypes } from '../simulators/looker/ports.ts';
export type {
  FaultName,
  FaultSetting,
  LookerSimulator,
  LookerSimulatorOptions,
  PermanentFailure,
  SimulatedType,
} from '../simulators/looker/ports.ts';

/** See `startLookerSimulator` in `simulators/looker`. */
export async function simulateLooker(options: LookerSimulatorOptions): Promise<LookerSimulator> {
  const { startLookerSimulator } = await import('../simulators/looker/index.ts');
  return startLookerSimulator(options);
}
