// SQL as a value, with text and parameters apart so that no query is assembled from strings; and the errors of failed statements.

/** Made by the `sql` tag. */
export class Sql {
  readonly strings: readonly string[];
  readonly values: readonly unknown[];

  constructor(strings: readonly string[], values: readonly unknown[]) {
    this.strings = strings;
    this.values = values;
  }

  /** Text with $1, $2, … and the parameters that belong to them. */
  compile(): { readonly text: string; readonly values: readonly unknown[] } {
    const values: unknown[] = [];
    const write = (part: Sql): string =>
      part.strings.reduce((text, piece, index) => {
        const value = part.values[index - 1];
        if (value instanceof Sql) return text + write(value) + piece;
        values.push(value);
        return `${text}$${values.length}${piece}`;
      });
    const text = write(this);
    return { text, values };
  }
}

/**
 * Every `${value}` becomes a parameter; another Sql is spliced in. Arrays become Postgres arrays
 * (`= any(${ids})`), Date and Uint8Array are accepted, JSON goes through `json(value)`.
 */
export function sql(strings: TemplateStringsArray, ...values: readonly unknown[]): Sql {
  return new Sql(strings, values);
}

/** A parameter for a json or jsonb column; arrays and strings need it. */
export function json(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

/** Parts with a separator between them: `joinSql(conditions, sql` and `)`. */
export function joinSql(parts: readonly Sql[], separator: Sql): Sql {
  const [first, ...rest] = parts;
  if (!first) return new Sql([''], []);
  return rest.reduce((joined, part) => sql`${joined}${separator}${part}`, first);
}

/** A name (table, column, schema) as a quoted identifier: names cannot be parameters. */
export function identifier(name: string): Sql {
  return new Sql([quoted(name)], []);
}

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** SQL from elsewhere (pg-boss). Never build its text from input. */
export function rawSql(text: string, values: readonly unknown[] = []): RawSql {
  return { text, values };
}

export interface RawSql {
  readonly text: string;
  readonly values: readonly unknown[];
}

export interface SqlErrorFields {
  readonly message: string;
  /** Five characters, for example 23505 for a violated unique constraint. */
  readonly sqlState: string;
  readonly schema?: string | undefined;
  readonly table?: string | undefined;
  readonly column?: string | undefined;
  readonly constraint?: string | undefined;
  /** Where in the statement's text, from 1. */
  readonly position?: string | undefined;
}

/** A failed statement, the same from both drivers. `detail` is left out because it quotes rows. */
export class SqlError extends Error {
  override readonly name = 'SqlError';
  /** The same as `sqlState`, under the name of the pg driver. */
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

/** The fields of an error of a Postgres driver, or `undefined` for another error. */
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

/** Whether it is a SqlError of this SQLSTATE (five characters) or class (the first two). */
export function hasSqlState(error: unknown, prefix: string): boolean {
  return error instanceof SqlError && error.sqlState.startsWith(prefix);
}

/** JSON without NUL and lone surrogates, which jsonb rejects. */
export const storedJson = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'string' ? each.toWellFormed().replaceAll('\0', '') : each,
  );
