// SQL as a value: text and parameters apart, so that no query can be put together from strings by accident.

/** Made only by the `sql` tag (or `rawSql` in the few places that own their SQL). */
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
 * (`= any(${ids})`), Date and Uint8Array pass as they are, JSON goes through `json(value)`.
 */
export function sql(strings: TemplateStringsArray, ...values: readonly unknown[]): Sql {
  return new Sql(strings, values);
}

/** A parameter for a json or jsonb column: arrays and plain text need it, objects are easier to read with it. */
export function json(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

/** Pieces with a separator between them: `joinSql(conditions, sql` and `)`. */
export function joinSql(parts: readonly Sql[], separator: Sql): Sql {
  const [first, ...rest] = parts;
  if (!first) return new Sql([''], []);
  return rest.reduce((joined, part) => sql`${joined}${separator}${part}`, first);
}

/** A name (table, column, schema) as a quoted identifier: names cannot be parameters. */
export function identifier(name: string): Sql {
  return new Sql([`"${name.replaceAll('"', '""')}"`], []);
}

/** SQL that somebody else wrote (a migration file, pg-boss). Never build its text from input. */
export function rawSql(text: string, values: readonly unknown[] = []): RawSql {
  return { text, values };
}

export interface RawSql {
  readonly text: string;
  readonly values: readonly unknown[];
}
