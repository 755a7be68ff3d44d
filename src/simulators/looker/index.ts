// A simulated Looker: stateful, repeatable by its seed, as slow and faulty as it is told to be.
export * from './ports.ts';
export { startLookerSimulator } from './start-looker-simulator.ts';
