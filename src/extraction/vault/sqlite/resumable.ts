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

export interface Found {
  readonly resumable: Resumable | undefined;
  /** As `OpenSession.redefined`. */
  readonly redefined: readonly string[];
}

/**
 * The newest session that has a type in common with the run, if it asks for the same: same types, defined the same
 * way, of the same scope. An older one must not go on: it would take for deleted what a newer one saw.
 *
 * Every field of a definition counts, also one that a newer program added: pages that were read without it may lack
 * what it is there for, and a session that went on would mark as deleted what they lack.
 */
export function findResumable(db: DatabaseSync, spec: SessionSpec): Found {
  const newest = spec.fresh === true ? undefined : newestSession(db, spec);
  if (!newest) return { resumable: undefined, redefined: [] };
  const { types, ...resumable } = newest;
  const { isOver, isComplete } = resumable;
  const isToBegin = spec.fresh === 'when-over' && (isComplete || (isOver && !spec.retryFailed));
  if (isToBegin) return { resumable: undefined, redefined: [] };
  if (types === typesText(spec.types)) return { resumable, redefined: [] };
  return { resumable: undefined, redefined: redefinedTypes(types, spec.types) };
}

function newestSession(
  db: DatabaseSync,
  { types }: SessionSpec,
): (Resumable & { readonly types: string }) | undefined {
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
  if (!newest) return undefined;
  return {
    number: Number(newest['number']),
    id: String(newest['id']),
    types: String(newest['types']),
    isOver: newest['open'] === 0,
    isComplete: newest['open'] === 0 && newest['incomplete'] === 0,
  };
}

/** None when the run asks for something else: for other types, or for another part of one. */
function redefinedTypes(stored: string, types: readonly SourceType[]): readonly string[] {
  const before = new Map(parsedTypes(stored).map((type) => [type.name, type]));
  const asksTheSame =
    before.size === types.length &&
    types.every(({ name, scope }) => before.has(name) && before.get(name)?.scope === scope);
  if (!asksTheSame) return [];
  return types
    .filter((type) => canonicalJson(type) !== canonicalJson(before.get(type.name)))
    .map(({ name }) => name);
}

function parsedTypes(stored: string): readonly SourceType[] {
  try {
    return JSON.parse(stored) as readonly SourceType[];
  } catch {
    // Somebody changed it by hand.
    return [];
  }
}
