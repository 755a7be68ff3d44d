// The only place that reads the environment of this process.
import type { ConfigInput } from './resolve-config.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Environment and working directory of this process. */
export function processEnvironment(): Required<Pick<ConfigInput, 'env' | 'cwd'>> {
  return { env: process.env, cwd: process.cwd() };
}
