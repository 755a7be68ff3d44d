// Makes a graph with its labels and indexes, notes whose it is, and puts a rebuilt one in the place of the old.
import type { Queryable } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { identifier, json, sql } from '../../platform/postgres/sql.ts';
import type { GraphName } from './age-statements.ts';
import { graphNames, textOf } from './age-statements.ts';

const schemaNames = { live: identifier('nur'), beside: identifier('nur_rebuild') } as const;

export async function graphExists(database: Queryable, graph: GraphName): Promise<boolean> {
  const { rows } = await database.query(
    sql`select from ag_catalog.ag_graph where name = ${graphNames[graph]}`,
  );
  return rows.length > 0;
}

/** In a transaction, so that there is a whole graph or none. `owner`: the schema whose tables it shows. */
export async function createGraph(
  database: Queryable,
  graph: GraphName,
  owner: string,
  at: Date,
): Promise<void> {
  const name = graphNames[graph];
  await database.query(sql`select create_graph(${name})`);
  for (const label of [sql`'Entity'`, sql`'Event'`, sql`'House'`, sql`'Progress'`])
    await database.query(sql`select create_vlabel(${name}, ${label})`);
  for (const label of [sql`'ACTED_IN'`, sql`'ABOUT'`, sql`'POSSIBLY_SAME'`])
    await database.query(sql`select create_elabel(${name}, ${label})`);
  for (const statement of indexes(schemaNames[graph])) await database.query(statement);
  await database.query(sql`
    select * from cypher(${name}, $$ CREATE (h:House {schema: $owner, at: $at}) $$,
      ${json({ owner, at: at.toISOString() })}) as (nothing agtype)`);
}

/** The unique ones keep two writers at the same moment from making the same twice. */
function indexes(schema: Sql): readonly Sql[] {
  const property = (name: Sql) => sql`agtype_access_operator(properties, ${name}::agtype)`;
  const id = property(sql`'"id"'`);
  return [
    sql`create unique index entity_id on ${schema}."Entity" (${id})`,
    sql`create unique index event_id on ${schema}."Event" (${id})`,
    sql`create index entity_properties on ${schema}."Entity" using gin (properties)`,
    sql`create index event_properties on ${schema}."Event" using gin (properties)`,
    sql`create unique index acted_in on ${schema}."ACTED_IN" (start_id, end_id, ${property(sql`'"role"'`)})`,
    sql`create unique index about on ${schema}."ABOUT" (start_id, end_id)`,
    sql`create unique index possibly_same on ${schema}."POSSIBLY_SAME" (start_id, end_id)`,
    sql`create index acted_in_end on ${schema}."ACTED_IN" (end_id)`,
    sql`create index about_end on ${schema}."ABOUT" (end_id)`,
  ];
}

/** The schema whose tables the live graph shows; null when it does not say. */
export async function ownerOfGraph(database: Queryable): Promise<string | null> {
  const { rows } = await database.query<{ owner: string }>(sql`
    select ${textOf(sql`owner`)} as owner
    from cypher('nur', $$ MATCH (h:House) RETURN h.schema $$) as (owner agtype)`);
  return rows[0]?.owner ?? null;
}

export async function dropGraph(database: Queryable, graph: GraphName): Promise<void> {
  if (await graphExists(database, graph))
    await database.query(sql`select drop_graph(${graphNames[graph]}, true)`);
}

/** In a transaction: whoever searches meanwhile waits a moment and sees the new one. */
export async function swapGraphs(database: Queryable): Promise<void> {
  await database.query(sql`select set_config('statement_timeout', '0', true)`);
  await dropGraph(database, 'live');
  await database.query(sql`select alter_graph('nur_rebuild', 'RENAME', 'nur')`);
  for (const statement of renamedDefaults) await database.query(statement);
}

/**
 * AGE 1.7 leaves the old name in the ids that label tables give out ("label_id must be 1 .. 65535" on the next write).
 * The two labels of AGE itself are never written to.
 */
const renamedDefaults: readonly Sql[] = [
  sql`alter table nur."Entity" alter column id set default
    _graphid(_label_id('nur', 'Entity')::integer, nextval('nur."Entity_id_seq"'))`,
  sql`alter table nur."Event" alter column id set default
    _graphid(_label_id('nur', 'Event')::integer, nextval('nur."Event_id_seq"'))`,
  sql`alter table nur."ACTED_IN" alter column id set default
    _graphid(_label_id('nur', 'ACTED_IN')::integer, nextval('nur."ACTED_IN_id_seq"'))`,
  sql`alter table nur."ABOUT" alter column id set default
    _graphid(_label_id('nur', 'ABOUT')::integer, nextval('nur."ABOUT_id_seq"'))`,
  sql`alter table nur."POSSIBLY_SAME" alter column id set default
    _graphid(_label_id('nur', 'POSSIBLY_SAME')::integer, nextval('nur."POSSIBLY_SAME_id_seq"'))`,
];

/** When the rebuild beside began, and how far it has come. */
export async function readProgress(
  database: Queryable,
): Promise<{ readonly since: Date; readonly position: string | null }> {
  const { rows: house } = await database.query<{ at: string }>(sql`
    select ${textOf(sql`at`)} as at from cypher('nur_rebuild', $$ MATCH (h:House) RETURN h.at $$) as (at agtype)`);
  const { rows } = await database.query<{ position: string }>(sql`
    select ${textOf(sql`place`)} as position
    from cypher('nur_rebuild', $$ MATCH (p:Progress) RETURN p.position $$) as (place agtype)`);
  return { since: new Date(house[0]?.at ?? 0), position: rows[0]?.position ?? null };
}

export async function writeProgress(database: Queryable, position: string): Promise<void> {
  await database.query(sql`
    select * from cypher('nur_rebuild', $$ MERGE (p:Progress {id: 'rebuild'}) SET p.position = $position $$,
      ${json({ position })}) as (nothing agtype)`);
}
