// Providers: who they are, where their keys are, and what a model of one's own must look like.
export { isLocalAddress } from './base-url.ts';
export { catalogue, modelIdentity } from './catalogue.ts';
export { envVarProblem } from './env-vars.ts';
export type { ProviderKeyRing } from './key-ring.ts';
export { createKeyRing, noKey, waysInWords } from './key-ring.ts';
export { leadsElsewhere } from './leads-elsewhere.ts';
export { checkModelDefinition, modelProblems, parseModelDefinition } from './parse-model-definition.ts';
