// Which types of a source a run extracts.
import { CoreError } from '../core/index.ts';
import type { SourceType } from './ports.ts';

/**
 * The types named, in the source's order, with those that they hang on; all when none is named. Fails with
 * CONFIG_INVALID for names that the source does not have.
 */
export function selectTypes(all: readonly SourceType[], named: readonly string[]): readonly SourceType[] {
  const unknown = named.filter((name) => !all.some((type) => type.name === name));
  if (unknown.length > 0)
    throw new CoreError(
      'CONFIG_INVALID',
      `extraction.types (--types, HEADWORKS_EXTRACTION_TYPES): "${unknown.join('", "')}" must be of this source's ` +
        `types: ${all.map(({ name }) => name).join(', ')}.`,
    );
  const wanted = new Set(named.length === 0 ? all.map(({ name }) => name) : named);
  // A Set visits what is added while it is walked: parents of parents too.
  for (const name of wanted) {
    const from = all.find((type) => type.name === name)?.parent?.from;
    if (from !== undefined && from !== 'self') wanted.add(from);
  }
  return all.filter(({ name }) => wanted.has(name));
}
