// Reads the facts of an item from its data again: what stands beside the data must be what the data says.
import type { DatabaseSync } from 'node:sqlite';
import { FactFinder } from '../../parsing/item-facts.ts';
import { readItem } from '../../parsing/read-item.ts';
import type { ItemShape, ParsedItem, SourceType } from '../../ports.ts';
import type { Row } from './rows.ts';

interface Reader {
  readonly shape: ItemShape;
  readonly finder: FactFinder;
}

const facts = ['name', 'owner', 'folder', 'createdAt', 'updatedAt'] as const;
const columns = { createdAt: 'created_at', updatedAt: 'updated_at' } as const;

export class FactChecker {
  readonly #types: (session: number) => readonly SourceType[];
  readonly #readers = new Map<string, readonly Reader[]>();

  constructor(db: DatabaseSync) {
    const statement = db.prepare('SELECT types FROM extraction_sessions WHERE number = ?');
    this.#types = (session) => JSON.parse(String(statement.get(session)?.['types'] ?? '[]')) as SourceType[];
  }

  /**
   * What is wrong with the head in `row`, for people. Its facts were read as the session that wrote the version or the
   * one that saw the item last defined the type, in the form of any of its listings; nobody noted which.
   */
  problem(row: Row, data: Uint8Array): string | undefined {
    const sessions = [...new Set([Number(row['session']), Number(row['version_session'])])];
    const readers = sessions.flatMap((session) => this.#readersOf(session, String(row['type'])));
    const problems = readers.map((reader) => problemOf(row, reader, data));
    // A definition that is not kept any more leaves nothing to compare with; that it is missing is found elsewhere.
    return problems.includes(undefined) ? undefined : problems[0];
  }

  #readersOf(session: number, type: string): readonly Reader[] {
    const key = `${session} ${type}`;
    const known = this.#readers.get(key);
    if (known) return known;
    const definition = this.#types(session).find(({ name }) => name === type);
    const shapes = definition
      ? [definition.shape, ...(definition.listings ?? []).flatMap(({ shape }) => shape ?? [])]
      : [];
    const readers = shapes.map((shape) => ({ shape, finder: new FactFinder(shape, []) }));
    this.#readers.set(key, readers);
    return readers;
  }
}

function problemOf(row: Row, { shape, finder }: Reader, data: Uint8Array): string | undefined {
  const read = readItem(finder.find(data, 0).facts, shape, null);
  if ('rejected' in read) return `Its data is no item: ${read.rejected.message}`;
  if (!isIdOf(String(row['id']), read.item, shape)) return `Its data is that of the item ${read.item.id}.`;
  const wrong = facts.filter((fact) => read.item[fact] !== stored(row, fact));
  return wrong.length === 0 ? undefined : `Its data says something else: ${wrong.join(', ')}.`;
}

/** Which parent the item hangs on is not in its data. */
const isIdOf = (id: string, item: ParsedItem, { isIdWithinParent }: ItemShape): boolean =>
  id === item.id || (isIdWithinParent === true && id.endsWith(`::${item.id}`));

function stored(row: Row, fact: (typeof facts)[number]): unknown {
  if (fact === 'createdAt' || fact === 'updatedAt') {
    const value = row[columns[fact]];
    return value === null ? null : Number(value);
  }
  return row[fact];
}
