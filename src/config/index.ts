// Configuration: every option of every domain, resolved once, frozen, with the source of each value.
export type { Config } from './config.ts';
export { listOptions } from './config.ts';
export { type ConfigRow, describeConfig, valueText } from './describe-config.ts';
export { optionReference } from './describe-config.ts';
export { optionSections } from './config.ts';
export { type Environment, loadConfigFromProcess, processEnvironment } from './process-environment.ts';
export { type ConfigInput, configFileVariable, resolveConfig } from './resolve-config.ts';
export { secretsOf, serverSecretVariables } from './secrets.ts';
