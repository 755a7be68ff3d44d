// Options that the factories share; apart from the code that uses them, so that their types stay small.

/**
 * Where state is kept: in an embedded Postgres in a folder that one process uses at a time, or in a Postgres server
 * (15 or newer, with pgvector for embeddings) that many share.
 *
 * @example const options: StoreOptions = { dataFolder: '.headworks' };
 */
export interface StoreOptions {
  /** Default: `.headworks/gateway` or `.headworks/knowledge` in the working directory. */
  readonly dataFolder?: string;
  /** `postgres://…`; replaces the data folder. */
  readonly databaseUrl?: string;
}
