// Simulated AI providers: OpenAI-compatible servers that behave as a scenario describes.
export * from './scenario.ts';
export { startModelsSimulator } from './simulator.ts';
export type { ModelsSimulator } from './simulator.ts';
