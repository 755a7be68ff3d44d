// Providers: who they are, where their keys are, and what a model of one's own must look like.
export { isLocalAddress } from './base-url.ts';
export { catalogue, modelIdentity } from './catalogue.ts';
export { envVarProblem } from './env-vars.ts';
export type { EnvironmentProviderKeys } from './key-ring.ts';
export { createProviderKeys, noKey, describeMissing } from './key-ring.ts';
export { endpointChanged } from './leads-elsewhere.ts';
export { checkModelDefinition, modelProblems, parseModelDefinition } from './parse-model-definition.ts';
