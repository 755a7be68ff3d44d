// The only place that reads the environment of this process.
import type { Config } from './config.ts';
import type { ConfigInput } from './resolve-config.ts';
import { resolveConfig } from './resolve-config.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Environment and working directory of this process. */
export function processEnvironment(): Required<Pick<ConfigInput, 'env' | 'cwd'>> {
  return { env: process.env, cwd: process.cwd() };
}

/** The configuration of this process, for programs that use Headworks without its command line. */
export function loadConfigFromProcess(input: Omit<ConfigInput, 'env' | 'cwd'> = {}): Config {
  return resolveConfig({ ...input, ...processEnvironment() });
}
