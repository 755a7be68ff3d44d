// Which session a run goes on with.
import type { DatabaseSync } from 'node:sqlite';
import type { SessionSpec, SourceType } from '../../ports.ts';
import { canonicalJson } from '../canonical-json.ts';

export interface Resumable {
  readonly number: number;
  readonly id: string;
  /** Nothing of it is left that was not asked for. */
  readonly isOver: boolean;
  readonly isComplete: boolean;
}

/** The definition of the types as the session keeps it: in another form they are other types. */
export const typesText = (types: readonly SourceType[]): string =>
  canonicalJson(types.toSorted((one, other) => (one.name < other.name ? -1 : 1)));

/**
 * The newest session that has a type in common with the run, if it asks for the same: same types, defined the same
 * way, of the same scope. An older one must not go on: it would take for deleted what a newer one saw.
 */
export function findResumable(db: DatabaseSync, { types }: SessionSpec): Resumable | undefined {
  const names = JSON.stringify(types.map(({ name }) => name));
  const newest = db
    .prepare(
      `SELECT number, id, types,
              (SELECT count(*) FROM checkpoints WHERE session = session.number AND status = 'incomplete') AS incomplete,
              (SELECT count(*) FROM checkpoints WHERE session = session.number
               AND status IN ('pending', 'running')) AS open
       FROM extraction_sessions AS session
       WHERE EXISTS (SELECT 1 FROM checkpoints JOIN content_types AS type ON type.number = content_type
                     WHERE session = session.number AND type.name IN (SELECT value FROM json_each(?)))
       ORDER BY number DESC LIMIT 1`,
    )
    .get(names);
  if (!newest || newest['types'] !== typesText(types)) return undefined;
  return {
    number: Number(newest['number']),
    id: String(newest['id']),
    isOver: newest['open'] === 0,
    isComplete: newest['open'] === 0 && newest['incomplete'] === 0,
  };
}
