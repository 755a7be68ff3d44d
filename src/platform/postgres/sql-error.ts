// What Postgres says when a statement fails, alike from both adapters and without the row's content.

export interface SqlErrorFields {
  readonly message: string;
  /** Five letters that name the kind of failure: 23505 is a broken unique constraint. */
  readonly sqlState: string;
  readonly schema?: string | undefined;
  readonly table?: string | undefined;
  readonly column?: string | undefined;
  readonly constraint?: string | undefined;
  /** Where in the statement's text, from 1. */
  readonly position?: string | undefined;
}

/** A statement failed in the store; the store itself is fine. `detail` is left out: it quotes rows. */
export class SqlError extends Error {
  override readonly name = 'SqlError';
  /** The same as `sqlState`, under the name that Postgres clients use. */
  readonly code: string;
  readonly sqlState: string;
  readonly schema: string | undefined;
  readonly table: string | undefined;
  readonly column: string | undefined;
  readonly constraint: string | undefined;
  readonly position: string | undefined;

  constructor(fields: SqlErrorFields, cause?: unknown) {
    super(fields.message, cause === undefined ? undefined : { cause });
    this.code = fields.sqlState;
    this.sqlState = fields.sqlState;
    this.schema = fields.schema;
    this.table = fields.table;
    this.column = fields.column;
    this.constraint = fields.constraint;
    this.position = fields.position;
  }
}

/** The fields of an error that a Postgres driver threw, or `undefined` if it is none of Postgres's. */
export function sqlErrorFields(error: unknown): SqlErrorFields | undefined {
  if (!(error instanceof Error)) return undefined;
  const raw = error as Error & Partial<Record<string, unknown>>;
  const text = (name: string) => (typeof raw[name] === 'string' ? raw[name] : undefined);
  const sqlState = text('code');
  if (sqlState === undefined || !/^[0-9A-Z]{5}$/.test(sqlState) || text('severity') === undefined)
    return undefined;
  return {
    message: error.message,
    sqlState,
    schema: text('schema'),
    table: text('table'),
    column: text('column'),
    constraint: text('constraint'),
    position: text('position'),
  };
}

/** Is it a failure of this kind (five letters), or of this class (the first two)? */
export function hasSqlState(error: unknown, prefix: string): boolean {
  return error instanceof SqlError && error.sqlState.startsWith(prefix);
}
