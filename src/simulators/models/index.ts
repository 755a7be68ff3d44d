// Simulated AI providers: OpenAI-compatible servers that behave as a scenario describes.
export { readScenario } from './scenario.ts';
export { startModelsSimulator } from './simulator.ts';
export * from './types.ts';
