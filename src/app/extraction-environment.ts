// Environment variables of the server.
import { listOptions, optionSections } from '../config/index.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables with secrets of the server itself, which no registered source may read; those of Looker are a source's. */
export function serverSecretVariables(): readonly string[] {
  return listOptions(optionSections)
    .filter(({ section, spec }) => spec.secret && section !== 'looker')
    .flatMap(({ spec }) => spec.env);
}
