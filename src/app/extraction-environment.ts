// Which environment variables a registered source may name.
import { listOptions, optionSections } from '../config/index.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment without the secrets of the house itself: whoever registers a source decides where its secrets are
 * sent, and must not be able to send ours.
 */
export function sourceEnvironment(env: Environment): Environment {
  const ours = new Set(
    listOptions(optionSections)
      .filter(({ section, spec }) => spec.secret && section !== 'looker')
      .flatMap(({ spec }) => spec.env),
  );
  return Object.fromEntries(Object.entries(env).filter(([name]) => !ours.has(name)));
}
