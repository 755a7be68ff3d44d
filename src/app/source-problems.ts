// What is wrong with a source that somebody registers, beyond its shape.
import type { Config } from '../config/index.ts';
import { HeadworksError, messageOf, parseCron } from '../core/index.ts';
import type { SourceDraft } from '../extraction/index.ts';
import { optionProblems } from '../extraction/index.ts';
import { loadRestSource } from '../extraction/sources/description/load.ts';
import type { Environment } from './extraction-environment.ts';

/** Fits wherever a variable may stand, an address included. */
const stand = 'https://not-set.invalid';

/** Variables need not be set yet: that is looked at when it runs. */
export function sourceProblems(draft: SourceDraft, config: Config, env: Environment): readonly string[] {
  const { settings, options, schedule } = draft;
  return [
    ...optionProblems(options, config.extraction),
    ...(schedule === null ? [] : problemOf(() => parseCron(schedule))),
    ...(settings.kind === 'rest' ? definitionProblems(settings.definition, env) : []),
    ...(settings.kind === 'rest' && (options.folders?.length ?? 0) > 0
      ? ['options.folders is for Looker; a REST source has no folders']
      : []),
  ];
}

function definitionProblems(text: string, env: Environment): readonly string[] {
  const complete = new Proxy(env, { get: (set, name) => Reflect.get(set, name) || stand });
  return problemOf(() => loadRestSource(text, { env: complete, file: 'settings.definition' }));
}

function problemOf(check: () => unknown): readonly string[] {
  try {
    check();
    return [];
  } catch (error) {
    const problems: unknown = error instanceof HeadworksError ? error.details['problems'] : undefined;
    const lines = Array.isArray(problems) ? problems.map(String) : [messageOf(error)];
    return lines.map((line) => line.replace(/\.$/, ''));
  }
}
