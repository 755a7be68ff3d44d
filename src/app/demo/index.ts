// The demo: a company that does not exist, its Looker, its AI providers and its tenants, run through the real server.
export type { ChapterProgress } from './chapter.ts';
export { deleteDemoFolder, openDemoMemory, type DemoMemory } from './demo-folder.ts';
export { lookAround, readByRulesKind, type Situation } from './look-around.ts';
export { steadyModel } from './demo-models.ts';
export { demoEnvironment, startDemoWorld, type DemoWorld } from './demo-world.ts';
export { runChapters, type ChapterScreen } from './run-chapters.ts';
export { brightline } from './tenants.ts';
