// A simulated Looker: stateful, repeatable by its seed, with configurable latency and faults.
export * from './types.ts';
export { startLookerSimulator } from './server.ts';
