// Indexes over vectors, one per model, made when a model has enough of them. pgvector indexes 2,000 dimensions at most,
// 4,000 as half-precision numbers; vectors that are longer are compared one by one.
import { createHash } from 'node:crypto';
import type { Database, Transaction } from '../../platform/postgres/ports.ts';
import { rawSql, Sql, sql } from '../../platform/postgres/sql.ts';

const buildLeaseMs = 600_000;

interface IndexedType {
  /** With its dimensions, as SQL. */
  readonly name: string;
  readonly operators: string;
}

/** Null: vectors of so many dimensions can have no index. */
function indexedType(dimensions: number): IndexedType | null {
  if (!Number.isInteger(dimensions) || dimensions < 1 || dimensions > 4_000) return null;
  return dimensions <= 2_000
    ? { name: `vector(${dimensions})`, operators: 'vector_cosine_ops' }
    : { name: `halfvec(${dimensions})`, operators: 'halfvec_cosine_ops' };
}

/** Writes a value as the model's index has it; null when there can be none. */
export function indexedAs(dimensions: number): ((value: Sql) => Sql) | null {
  const type = indexedType(dimensions);
  return type === null ? null : (value) => sql`${value}::${new Sql([type.name], [])}`;
}

export class NearestIndexes {
  readonly #database: Database;
  readonly #from: number;
  readonly #onFailed: (model: string, error: unknown) => void;
  /** Models that have one, or cannot have one. */
  readonly #settled = new Set<string>();

  /** `from` vectors on a model has an index. */
  constructor(database: Database, from: number, onFailed: (model: string, error: unknown) => void) {
    this.#database = database;
    this.#from = from;
    this.#onFailed = onFailed;
  }

  /** Makes the index if it is worth it by now. Never fails: without it every vector is compared. */
  async ensure(model: string, dimensions: number): Promise<void> {
    const key = `${dimensions} ${model}`;
    if (this.#settled.has(key)) return;
    const type = indexedType(dimensions);
    try {
      if (type !== null) {
        if (!(await this.#isWorthIt(model))) return;
        await this.#database.transaction((transaction) => build(transaction, model, dimensions, type), {
          leaseMs: buildLeaseMs,
        });
      }
    } catch (error) {
      this.#onFailed(model, error);
    }
    this.#settled.add(key);
  }

  async #isWorthIt(model: string): Promise<boolean> {
    const { rows } = await this.#database.query<{ count: number }>(sql`
      select count(*) from (
        select from chunk_vector where model = ${model} limit ${this.#from + 1}) as counted`);
    return (rows[0]?.count ?? 0) > this.#from;
  }
}

/** One server builds, the others wait and find it there. Postgres itself quotes the model's name. */
async function build(
  transaction: Transaction,
  model: string,
  dimensions: number,
  { name, operators }: IndexedType,
): Promise<void> {
  const index = `chunk_vector_${createHash('sha256').update(model).digest('hex').slice(0, 16)}_${dimensions}`;
  await transaction.query(sql`
    select pg_advisory_xact_lock(hashtext(${index})), set_config('statement_timeout', '0', true)`);
  const { rows } = await transaction.query<{ text: string }>(sql`
    select format('create index if not exists %I on chunk_vector using hnsw ((embedding::%s) %s) '
      'where model = %L and cardinality(embedding) = %s',
      ${index}::text, ${name}::text, ${operators}::text, ${model}::text, ${dimensions}::integer) as text`);
  await transaction.query(rawSql(rows[0]?.text ?? ''));
}
