// Vectors in PostgreSQL: stored as real[], which needs no extension; compared by pgvector if it is installed.
import { createHash } from 'node:crypto';
import type { Database, Transaction } from '../../platform/postgres/ports.ts';
import { Sql, rawSql, sql } from '../../platform/postgres/sql.ts';
import { allowedChunks } from '../search/query.ts';
import type { SearchFilter } from '../search/types.ts';

export interface UnembeddedChunk {
  readonly chunkId: number;
  readonly spaceId: number;
  readonly revisionId: string;
  /** Embedding was tried before, by any model: its own ingest job is done with it. */
  readonly wasTried: boolean;
  readonly title: string;
  readonly heading: string | null;
  readonly text: string;
}

/** The cause of an embed step whose text the embedder rejected while it accepts others: only its repair tries again. */
export const rejectedCause = 'EMBEDDING_REFUSED';

/**
 * Up to this many vectors of a space are compared one by one: exact, and faster than skipping other spaces' vectors in
 * an index. Building an index over this many takes a second or two, during which writers wait.
 */
const defaultMaxScanned = 2_000;
/** The index returns more than requested, because chunks of older revisions are dropped afterwards. */
const overfetchFactor = 4;

export class VectorIndex {
  /** Whether the store can compare vectors (pgvector); if not, the reason and the remedy. */
  readonly capability:
    | { readonly available: true }
    | { readonly available: false; readonly reason: string; readonly remedy: string };
  readonly #database: Database;
  readonly #indexes: NearestIndexes;
  readonly #maxScanned: number;

  /** `onIndexFailed`: an index could not be built; searches continue without it, slower. */
  constructor(
    database: Database,
    onIndexFailed: (model: string, error: unknown) => void = () => undefined,
    maxScanned = defaultMaxScanned,
  ) {
    this.#database = database;
    this.#maxScanned = maxScanned;
    this.#indexes = new NearestIndexes(database, maxScanned, onIndexFailed);
    this.capability = database.capabilities.vector;
  }

  async put(
    spaceId: number,
    model: string,
    vectors: readonly { readonly chunkId: number; readonly vector: Float32Array }[],
  ): Promise<void> {
    if (vectors.length === 0) return;
    // Chunks that are deleted or superseded need no vector; the lock prevents both until commit.
    await this.#database.query(sql`
      with wanted as (
        select c.chunk_id, given.embedding
        from unnest(${vectors.map(({ chunkId }) => chunkId)}::bigint[],
          ${vectors.map(({ vector }) => literal(vector))}::text[]) as given (chunk_id, embedding)
          join chunk c using (chunk_id) join artifact_revision r using (revision_id)
        where c.space_id = ${spaceId} and r.is_latest
        for share of c, r)
      insert into chunk_vector (space_id, model, chunk_id, embedding)
      select ${spaceId}::integer, ${model}, chunk_id, embedding::real[] from wanted
      on conflict (chunk_id, model) do update set embedding = excluded.embedding`);
    if (this.capability.available) await this.#indexes.ensure(model, vectors[0]?.vector.length ?? 0);
  }

  /** The cosine with the query, for those of these chunks that have a vector of the model. */
  async cosines(
    spaceId: number,
    model: string,
    query: Float32Array,
    chunkIds: readonly number[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<number, number>> {
    if (chunkIds.length === 0) return new Map();
    const { rows } = await this.#database.query<{ chunkId: number; cosine: number }>(
      sql`
        select chunk_id as "chunkId", 1 - (embedding::vector <=> ${literal(query)}::real[]::vector) as cosine
        from chunk_vector
        where chunk_id = any(${chunkIds}::bigint[]) and model = ${model} and space_id = ${spaceId}
          and cardinality(embedding) = ${query.length}`,
      { signal },
    );
    return new Map(rows.map(({ chunkId, cosine }) => [chunkId, cosine]));
  }

  /** The nearest chunks of latest revisions that pass the filter, best first. */
  async nearest(
    spaceId: number,
    model: string,
    query: Float32Array,
    limit: number,
    filter: SearchFilter,
    signal: AbortSignal,
  ): Promise<readonly { readonly chunkId: number; readonly cosine: number }[]> {
    const allowed = allowedChunks(spaceId, filter);
    const by = (await this.#isSmall(spaceId, model)) ? null : indexedExpression(query.length);
    const few = by === null || allowed === null ? null : await this.#fewEnough(allowed, signal);
    if (few !== null) return best(await this.cosines(spaceId, model, query, few, signal), limit);
    const passes = allowed === null ? sql`true` : sql`chunk_id in (${allowed})`;
    const input = { spaceId, model, query: literal(query), dimensions: query.length, limit, passes };
    if (by === null) return (await this.#database.query<Near>(scan(input), { signal })).rows;
    return this.#database.transaction(
      async (transaction) => {
        // Spaces share an index: the scan continues until enough vectors of this space are found. The planner
        // underestimates reading long vectors and would sort them all (550 ms instead of 5 for 3,000 vectors).
        await transaction.query(sql`
          select set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '100', true),
            set_config('enable_sort', 'off', true)`);
        return (await transaction.query<Near>(walk(input, by))).rows;
      },
      { signal },
    );
  }

  /**
   * Chunks of latest revisions in all spaces without a vector of the model and not rejected by it, by ascending id above
   * `after`.
   */
  async listUnembedded({
    model,
    after,
    limit,
  }: {
    readonly model: string;
    readonly after: number;
    readonly limit: number;
  }): Promise<readonly UnembeddedChunk[]> {
    const { rows } = await this.#database.query<UnembeddedChunk>(sql`
      select c.chunk_id as "chunkId", c.space_id as "spaceId", c.revision_id as "revisionId", r.title, c.heading, c.text,
        exists (select from chunk_step s where s.chunk_id = c.chunk_id and s.step = 'embed') as "wasTried"
      from chunk c join artifact_revision r using (revision_id)
      where c.chunk_id > ${after} and r.is_latest
        and not exists (select from chunk_vector v where v.chunk_id = c.chunk_id and v.model = ${model})
        and not exists (select from chunk_step s where s.chunk_id = c.chunk_id and s.step = 'embed'
          and s.method = ${model} and s.cause = ${rejectedCause})
      order by c.chunk_id limit ${limit}`);
    return rows;
  }

  /** Chunks of latest revisions without a vector of the model, and all of them. */
  async missing(
    spaceId: number,
    model: string,
  ): Promise<{ readonly missing: number; readonly total: number }> {
    const { rows } = await this.#database.query<{ missing: number; total: number }>(sql`
      select count(*) as total, count(*) filter (where v.chunk_id is null) as missing
      from chunk c join artifact_revision r using (revision_id)
        left join chunk_vector v on v.chunk_id = c.chunk_id and v.model = ${model}
      where c.space_id = ${spaceId} and r.is_latest`);
    return rows[0] ?? { missing: 0, total: 0 };
  }

  /** Deletes vectors of other models once every chunk has one of this model. */
  async deleteOtherModels(spaceId: number, model: string): Promise<number> {
    const { missing } = await this.missing(spaceId, model);
    if (missing > 0) return 0;
    const { affected } = await this.#database.query(
      sql`delete from chunk_vector where space_id = ${spaceId} and model <> ${model}`,
    );
    return affected;
  }

  /** The chunks a filter allows, if few enough to compare one by one; an index scan would mostly skip others. */
  async #fewEnough(allowed: Sql, signal: AbortSignal): Promise<readonly number[] | null> {
    const { rows } = await this.#database.query<{ id: number }>(
      sql`select chunk_id as id from (${allowed}) as allowed limit ${this.#maxScanned + 1}`,
      { signal },
    );
    return rows.length > this.#maxScanned ? null : rows.map(({ id }) => id);
  }

  async #isSmall(spaceId: number, model: string): Promise<boolean> {
    const { rows } = await this.#database.query<{ count: number }>(sql`
      select count(*) from (
        select from chunk_vector where space_id = ${spaceId} and model = ${model} limit ${this.#maxScanned + 1}) as counted`);
    return (rows[0]?.count ?? 0) <= this.#maxScanned;
  }
}

interface Near {
  readonly chunkId: number;
  readonly cosine: number;
}

interface NearestQuery {
  readonly spaceId: number;
  readonly model: string;
  readonly query: string;
  readonly dimensions: number;
  readonly limit: number;
  /** A condition on `chunk_id`. */
  readonly passes: Sql;
}

const best = (cosines: ReadonlyMap<number, number>, limit: number): readonly Near[] =>
  [...cosines]
    .map(([chunkId, cosine]) => ({ chunkId, cosine }))
    .sort((one, other) => other.cosine - one.cosine || one.chunkId - other.chunkId)
    .slice(0, limit);

/** Compares all vectors of the space. */
function scan({ spaceId, model, query, dimensions, limit, passes }: NearestQuery): Sql {
  return sql`
    with v as materialized (
      select chunk_id, embedding::vector <=> ${query}::real[]::vector as distance from chunk_vector
      where space_id = ${spaceId} and model = ${model} and cardinality(embedding) = ${dimensions})
    select chunk_id as "chunkId", 1 - distance as cosine from v where ${isLatest} and ${passes}
    order by distance, chunk_id limit ${limit}`;
}

/** Scans the model's index, which returns nearly ordered rows; sorts them. */
function walk(
  { spaceId, model, query, dimensions, limit, passes }: NearestQuery,
  by: (value: Sql) => Sql,
): Sql {
  const distance = sql`${by(sql`embedding`)} <=> ${by(sql`${query}::real[]`)}`;
  return sql`
    with v as materialized (
      select chunk_id, ${distance} as distance from chunk_vector
      where space_id = ${spaceId} and model = ${model} and cardinality(embedding) = ${dimensions} and ${passes}
      order by ${distance} limit ${limit * overfetchFactor})
    select chunk_id as "chunkId", 1 - distance as cosine from v where ${isLatest}
    order by distance, chunk_id limit ${limit}`;
}

const isLatest = sql`exists (
  select from chunk c join artifact_revision r using (revision_id) where c.chunk_id = v.chunk_id and r.is_latest)`;

const literal = (vector: Float32Array): string => `{${vector.join(',')}}`;

// Indexes over vectors, one per model, created once a model has enough of them. pgvector indexes at most 2,000
// dimensions, 4,000 at half precision; longer vectors are compared one by one.

const buildLeaseMs = 600_000;

interface IndexedType {
  /** The type with its dimensions, as SQL. */
  readonly name: string;
  readonly operators: string;
}

/** Null: not indexable. */
function indexedType(dimensions: number): IndexedType | null {
  if (!Number.isInteger(dimensions) || dimensions < 1 || dimensions > 4_000) return null;
  return dimensions <= 2_000
    ? { name: `vector(${dimensions})`, operators: 'vector_cosine_ops' }
    : { name: `halfvec(${dimensions})`, operators: 'halfvec_cosine_ops' };
}

/** Casts a value to the indexed type; null when not indexable. */
export function indexedExpression(dimensions: number): ((value: Sql) => Sql) | null {
  const type = indexedType(dimensions);
  return type === null ? null : (value) => sql`${value}::${new Sql([type.name], [])}`;
}

export class NearestIndexes {
  readonly #database: Database;
  readonly #from: number;
  readonly #onFailed: (model: string, error: unknown) => void;
  /** Models that have an index or cannot have one. */
  readonly #settled = new Set<string>();

  /** `from`: the number of vectors from which a model gets an index. */
  constructor(database: Database, from: number, onFailed: (model: string, error: unknown) => void) {
    this.#database = database;
    this.#from = from;
    this.#onFailed = onFailed;
  }

  /** Builds the index if it pays by now. Never fails: without an index every vector is compared. */
  async ensure(model: string, dimensions: number): Promise<void> {
    const key = `${dimensions} ${model}`;
    if (this.#settled.has(key)) return;
    const type = indexedType(dimensions);
    try {
      if (type !== null) {
        if (!(await this.#hasEnoughVectors(model))) return;
        await this.#database.transaction((transaction) => build(transaction, model, dimensions, type), {
          leaseMs: buildLeaseMs,
        });
      }
    } catch (error) {
      this.#onFailed(model, error);
    }
    this.#settled.add(key);
  }

  async #hasEnoughVectors(model: string): Promise<boolean> {
    const { rows } = await this.#database.query<{ count: number }>(sql`
      select count(*) from (
        select from chunk_vector where model = ${model} limit ${this.#from + 1}) as counted`);
    return (rows[0]?.count ?? 0) > this.#from;
  }
}

/** One server builds; others wait and find it. PostgreSQL quotes the model name. */
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
