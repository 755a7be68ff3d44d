// Configuration: every option of every domain, resolved once, frozen, with the source of each value.
export {
  describeConfig,
  listOptions,
  optionReference,
  optionSections,
  secretsOf,
  serverSecretVariables,
  valueText,
  type Config,
} from './config.ts';
export { processEnvironment, resolveConfig, type ConfigInput, type Environment } from './resolve-config.ts';
