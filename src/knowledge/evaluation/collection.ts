// A collection to measure search on: documents, queries, and what is relevant for each.
import { CoreError, messageOf } from '../../core/index.ts';
import type { Judgements } from './metrics.ts';

export interface CollectionDocument {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

export interface CollectionQuery {
  readonly id: string;
  readonly text: string;
  readonly judgements: Judgements;
}

export interface Collection {
  readonly documents: readonly CollectionDocument[];
  /** Only those for which something is relevant. */
  readonly queries: readonly CollectionQuery[];
}

/** Reads a file with one JSON object a line. Fails with INPUT_INVALID, naming file and line. */
export function readLines<Line>(
  name: string,
  text: string,
  read: (line: Record<string, unknown>) => Line,
): Line[] {
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    try {
      return [read(JSON.parse(line) as Record<string, unknown>)];
    } catch (error) {
      throw badData(`Line ${index + 1} of ${name} cannot be used: ${messageOf(error)}`);
    }
  });
}

/** A field that must be text. */
export function textOf(line: Readonly<Record<string, unknown>>, field: string): string {
  const value = line[field];
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  throw new TypeError(`"${field}" is missing or no text.`);
}

export function badData(message: string): CoreError {
  return new CoreError('INPUT_INVALID', message);
}
