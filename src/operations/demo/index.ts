// The demo: a fictional company with simulated upstreams, on the real server.

export type { DocumentSources, StepProgress, Upstreams } from './step.ts';
export { deleteDemoFolder, openDemoState, type DemoState } from './folder.ts';
export { readSituation, readByRulesKind, type Situation } from './knowledge-steps.ts';
export { reliableModel } from './upstreams.ts';
export { demoEnvironment, startUpstreams } from './upstreams.ts';
export { runDemo, type StepReporter } from './run-demo.ts';
export { brightline } from './tenancy-steps.ts';
