// Addresses with gaps: `/projects/{parent.id}/issues`, filled with what an item says, which may be anything.
import { FetchFailure } from '../errors.ts';
import { failureOfKind } from './failures.ts';

const gap = /\{([^{}]*)\}/g;

/** What stands in the gaps of a text, each once. */
export function gapsIn(text: string): readonly string[] {
  return [...new Set(Array.from(text.matchAll(gap), ([, name = '']) => name))];
}

/**
 * Fills a path. A value is one segment, whatever is in it; one that would lead elsewhere (empty, `.`, `..`) is
 * refused with a FetchFailure of the class `validation`, and so costs its own page only.
 */
export function filledPath(path: string, values: Readonly<Record<string, string | null>>): string {
  return path.replaceAll(gap, (_, name: string) => {
    const value = values[name];
    if (value === null || value === undefined || /^\.{0,2}$/.test(value))
      throw new FetchFailure(
        failureOfKind('validation'),
        `${path}: "${value ?? ''}" cannot stand for {${name}} in an address.`,
      );
    return encodeURIComponent(value);
  });
}
