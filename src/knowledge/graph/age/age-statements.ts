// All statements for AGE, as constant text. Values from documents are passed as one parameter, a map, the third
// argument of cypher(): a name that looks like Cypher or SQL stays a value. AGE 1.7 has no [:A|B] and no ON CREATE;
// MERGE of an edge silently stores broken edges, hence NOT EXISTS and CREATE.
import type { Queryable } from '../../../platform/postgres/ports.ts';
import type { Sql } from '../../../platform/postgres/sql.ts';
import { identifier, json, sql } from '../../../platform/postgres/sql.ts';

/** The live graph and the one a rebuild builds. cypher() requires literal names. */
export const graphNames = { live: sql`'nur'`, beside: sql`'nur_rebuild'` } as const;
export type GraphName = keyof typeof graphNames;

type Statement = (graph: GraphName, parameters: object) => Sql;

export const writeStatements = {
  entity: (graph, parameters) => sql`
    select * from cypher(${graphNames[graph]}, $$
      UNWIND $items AS item
      MERGE (n:Entity {id: item.entityId})
      SET n.space = $space, n.name = item.name, n.type = item.type
      RETURN item.place
    $$, ${json(parameters)}) as (place agtype)`,
  event: (graph, parameters) => sql`
    select * from cypher(${graphNames[graph]}, $$
      UNWIND $items AS item
      MERGE (n:Event {id: item.eventId})
      SET n.space = $space, n.category = item.category, n.narrative = item.narrative, n.time = item.time
      RETURN item.place
    $$, ${json(parameters)}) as (place agtype)`,
  'acted-in': (graph, parameters) => sql`
    select * from cypher(${graphNames[graph]}, $$
      UNWIND $items AS item
      MATCH (a:Entity {id: item.entityId}), (e:Event {id: item.eventId})
      WHERE NOT EXISTS ((a)-[:ACTED_IN {role: item.role}]->(e))
      CREATE (a)-[:ACTED_IN {role: item.role}]->(e)
    $$, ${json(parameters)}) as (nothing agtype)`,
  about: (graph, parameters) => sql`
    select * from cypher(${graphNames[graph]}, $$
      UNWIND $items AS item
      MATCH (e:Event {id: item.eventId}), (n:Entity {id: item.entityId})
      WHERE NOT EXISTS ((e)-[:ABOUT]->(n))
      CREATE (e)-[:ABOUT]->(n)
    $$, ${json(parameters)}) as (nothing agtype)`,
  'possibly-same': (graph, parameters) => sql`
    select * from cypher(${graphNames[graph]}, $$
      UNWIND $items AS item
      MATCH (a:Entity {id: item.entityA}), (b:Entity {id: item.entityB})
      WHERE NOT EXISTS ((a)-[:POSSIBLY_SAME]->(b))
      CREATE (a)-[:POSSIBLY_SAME {confidence: item.confidence, reason: item.reason}]->(b)
    $$, ${json(parameters)}) as (nothing agtype)`,
} as const satisfies Readonly<Record<string, Statement>>;

/** Reads back with both ends: which items were written. */
export const checkStatements = {
  'acted-in': (graph, parameters) => sql`
    select * from cypher(${graphNames[graph]}, $$
      UNWIND $items AS item
      MATCH (a:Entity {id: item.entityId})-[r:ACTED_IN {role: item.role}]->(e:Event {id: item.eventId})
      RETURN item.place
    $$, ${json(parameters)}) as (place agtype)`,
  about: (graph, parameters) => sql`
    select * from cypher(${graphNames[graph]}, $$
      UNWIND $items AS item
      MATCH (e:Event {id: item.eventId})-[r:ABOUT]->(n:Entity {id: item.entityId})
      RETURN item.place
    $$, ${json(parameters)}) as (place agtype)`,
  'possibly-same': (graph, parameters) => sql`
    select * from cypher(${graphNames[graph]}, $$
      UNWIND $items AS item
      MATCH (a:Entity {id: item.entityA})-[r:POSSIBLY_SAME]->(b:Entity {id: item.entityB})
      RETURN item.place
    $$, ${json(parameters)}) as (place agtype)`,
} as const satisfies Readonly<Record<string, Statement>>;

export const removeStatements = {
  entities: (parameters: object) => sql`
    select * from cypher('nur', $$
      UNWIND $ids AS one
      MATCH (n:Entity {id: one, space: $space})
      DETACH DELETE n
    $$, ${json(parameters)}) as (nothing agtype)`,
  events: (parameters: object) => sql`
    select * from cypher('nur', $$
      UNWIND $ids AS one
      MATCH (n:Event {id: one, space: $space})
      DETACH DELETE n
    $$, ${json(parameters)}) as (nothing agtype)`,
};

export const readStatements = {
  entityIds: (parameters: object) => sql`
    select ${textOf(sql`id`)} as id from cypher('nur', $$ MATCH (n:Entity {space: $space}) RETURN n.id $$,
      ${json(parameters)}) as (id agtype)`,
  events: (parameters: object) => sql`
    select ${textOf(sql`id`)} as id from cypher('nur', $$
      UNWIND $ids AS one
      MATCH (n:Event {id: one, space: $space})
      RETURN n.id
    $$, ${json(parameters)}) as (id agtype)`,
  eventIds: (parameters: object) => sql`
    select ${textOf(sql`id`)} as id from cypher('nur', $$ MATCH (n:Event {space: $space}) RETURN n.id $$,
      ${json(parameters)}) as (id agtype)`,
  anyNode: () => sql`
    select id from cypher('nur', $$ MATCH (n:Entity) RETURN n.id LIMIT 1 $$) as (id agtype)`,
};

/** Ids contain no quotes, so trimming them gives the text. */
export function textOf(value: Sql): Sql {
  return sql`trim(both '"' from ${value}::text)`;
}

// Creates a graph with labels and indexes, records its owner, and swaps in a rebuilt one.

const schemaNames = { live: identifier('nur'), beside: identifier('nur_rebuild') } as const;

export async function graphExists(database: Queryable, graph: GraphName): Promise<boolean> {
  const { rows } = await database.query(
    sql`select from ag_catalog.ag_graph where name = ${graphNames[graph]}`,
  );
  return rows.length > 0;
}

/** In a transaction, so that there is a whole graph or none. `owner`: the schema whose tables it represents. */
export async function createGraph(
  database: Queryable,
  graph: GraphName,
  owner: string,
  at: Date,
): Promise<void> {
  const name = graphNames[graph];
  await database.query(sql`select create_graph(${name})`);
  for (const label of [sql`'Entity'`, sql`'Event'`, sql`'Owner'`, sql`'Progress'`])
    await database.query(sql`select create_vlabel(${name}, ${label})`);
  for (const label of [sql`'ACTED_IN'`, sql`'ABOUT'`, sql`'POSSIBLY_SAME'`])
    await database.query(sql`select create_elabel(${name}, ${label})`);
  for (const statement of indexes(schemaNames[graph])) await database.query(statement);
  await database.query(sql`
    select * from cypher(${name}, $$ CREATE (o:Owner {schema: $owner, at: $at}) $$,
      ${json({ owner, at: at.toISOString() })}) as (nothing agtype)`);
}

/** The unique indexes prevent concurrent writers from creating duplicates. */
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

/** The schema whose tables the live graph represents; null when unknown. */
export async function ownerOfGraph(database: Queryable): Promise<string | null> {
  const { rows } = await database.query<{ owner: string }>(sql`
    select ${textOf(sql`owner`)} as owner
    from cypher('nur', $$ MATCH (o:Owner) RETURN o.schema $$) as (owner agtype)`);
  return rows[0]?.owner ?? null;
}

export async function dropGraph(database: Queryable, graph: GraphName): Promise<void> {
  if (await graphExists(database, graph))
    await database.query(sql`select drop_graph(${graphNames[graph]}, true)`);
}

/** In a transaction: concurrent searches wait a moment and see the new graph. */
export async function swapGraphs(database: Queryable): Promise<void> {
  await database.query(sql`select set_config('statement_timeout', '0', true)`);
  await dropGraph(database, 'live');
  await database.query(sql`select alter_graph('nur_rebuild', 'RENAME', 'nur')`);
  for (const statement of renamedDefaults) await database.query(statement);
}

/**
 * AGE 1.7 keeps the old name in the id defaults of label tables ("label_id must be 1 .. 65535" on the next write).
 * AGE's own two labels are never written to.
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

/** When the rebuild started, and its position. */
export async function readProgress(
  database: Queryable,
): Promise<{ readonly since: Date; readonly position: string | null }> {
  const { rows: started } = await database.query<{ at: string }>(sql`
    select ${textOf(sql`at`)} as at from cypher('nur_rebuild', $$ MATCH (o:Owner) RETURN o.at $$) as (at agtype)`);
  const { rows } = await database.query<{ position: string }>(sql`
    select ${textOf(sql`place`)} as position
    from cypher('nur_rebuild', $$ MATCH (p:Progress) RETURN p.position $$) as (place agtype)`);
  return { since: new Date(started[0]?.at ?? 0), position: rows[0]?.position ?? null };
}

export async function writeProgress(database: Queryable, position: string): Promise<void> {
  await database.query(sql`
    select * from cypher('nur_rebuild', $$ MERGE (p:Progress {id: 'rebuild'}) SET p.position = $position $$,
      ${json({ position })}) as (nothing agtype)`);
}
