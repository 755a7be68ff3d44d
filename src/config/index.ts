// Configuration: every option of every domain, resolved once, frozen, with the source of each value.
export type { Config } from './config.ts';
export { listOptions } from './config.ts';
export { describeConfig, valueText } from './describe-config.ts';
export { optionReference } from './describe-config.ts';
export { optionSections } from './config.ts';
export { type Environment, processEnvironment } from './process-environment.ts';
export { type ConfigInput, resolveConfig } from './resolve-config.ts';
export { secretsOf, serverSecretVariables } from './secrets.ts';
