// Simulated AI providers: OpenAI-compatible servers that behave as a scenario says.
export * from './ports.ts';
export { readScenario } from './scenario.ts';
export { startModelsSimulator } from './start-models-simulator.ts';
