// From SQL as a value to a command for a session.
import type { QueryOptions } from './ports.ts';
import { Sql, type RawSql } from './sql.ts';
import type { Command } from './store.ts';
import { encodeParameter } from './values.ts';

/** SQL of others without parameters may hold several statements, as pg-boss sends them: it runs as a script. */
export function queryCommand(query: Sql | RawSql, { isFrequent = false }: QueryOptions = {}): Command {
  const { text, values } = query instanceof Sql ? query.compile() : query;
  if (!(query instanceof Sql) && values.length === 0) return scriptCommand(text);
  return { kind: 'query', text, values: values.map(encodeParameter), isFrequent };
}

export function scriptCommand(text: string): Command {
  return { kind: 'script', text };
}
