// A simulated Looker: stateful, repeatable by its seed, as slow and faulty as it is told to be.
export * from './types.ts';
export { startLookerSimulator } from './server.ts';
