// All statements for AGE, as constant text. Values from documents are passed as one parameter, a map, the third
// argument of cypher(): a name that looks like Cypher or SQL stays a value. AGE 1.7 has no [:A|B] and no ON CREATE;
// MERGE of an edge silently stores broken edges, hence NOT EXISTS and CREATE.
import type { Queryable } from '../../../platform/postgres/ports.ts';
import type { Sql } from '../../../platform/postgres/sql.ts';
import { identifier, json, rawSql, sql } from '../../../platform/postgres/sql.ts';
import type { ExpansionRequest, RelatedEvent } from '../graph.ts';
import { isRelatable, maxPerEntity, rankRelated } from '../sql-graph.ts';

/** The live graph and the one a rebuild builds. cypher() requires literal names. */
const graphNames = { live: sql`'nur'`, rebuild: sql`'nur_rebuild'` } as const;
export type GraphName = keyof typeof graphNames;

/** A Cypher query as a table with one column of agtype; `parameters` is the map that the query refers to. */
const cypher = (graph: GraphName, query: Sql, parameters: object, column: Sql): Sql =>
  sql`cypher(${graphNames[graph]}, $$ ${query} $$, ${json(parameters)}) as (${column} agtype)`;

/**
 * A Cypher query with its column as text. Strings are ids and names of schemas without quotes, so trimming those gives
 * the text.
 */
const statement = (graph: GraphName, query: Sql, parameters: object, column = sql`nothing`): Sql =>
  sql`select ${textOf(column)} as ${column} from ${cypher(graph, query, parameters, column)}`;

const textOf = (value: Sql): Sql => sql`trim(both '"' from ${value}::text)`;

/** In Cypher: label and key of both ends and of the edge, and the edge with all of its properties. */
const edges = {
  'acted-in': {
    from: sql`Entity {id: item.entityId}`,
    to: sql`Event {id: item.eventId}`,
    key: sql`ACTED_IN {role: item.role}`,
    edge: sql`ACTED_IN {role: item.role}`,
  },
  about: {
    from: sql`Event {id: item.eventId}`,
    to: sql`Entity {id: item.entityId}`,
    key: sql`ABOUT`,
    edge: sql`ABOUT`,
  },
  'possibly-same': {
    from: sql`Entity {id: item.entityA}`,
    to: sql`Entity {id: item.entityB}`,
    key: sql`POSSIBLY_SAME`,
    edge: sql`POSSIBLY_SAME {confidence: item.confidence, reason: item.reason}`,
  },
} as const;

const writeNodes = (node: Sql) => (graph: GraphName, parameters: object) =>
  statement(graph, sql`UNWIND $items AS item MERGE (n:${node} RETURN item.place`, parameters, sql`place`);

const writeEdges = (what: keyof typeof edges) => (graph: GraphName, parameters: object) => {
  const { from, to, key, edge } = edges[what];
  const match = sql`MATCH (a:${from}), (b:${to}) WHERE NOT EXISTS ((a)-[:${key}]->(b))`;
  return statement(graph, sql`UNWIND $items AS item ${match} CREATE (a)-[:${edge}]->(b)`, parameters);
};

/** Statements for nodes return the places of what was written. */
export const writeStatements = {
  entity: writeNodes(sql`Entity {id: item.entityId})
    SET n.space = $space, n.name = item.name, n.type = item.type`),
  event: writeNodes(sql`Event {id: item.eventId})
    SET n.space = $space, n.category = item.category, n.narrative = item.narrative, n.time = item.time`),
  'acted-in': writeEdges('acted-in'),
  about: writeEdges('about'),
  'possibly-same': writeEdges('possibly-same'),
};

/** Reads edges back with both ends: the places of what was written. */
export function checkEdges(what: keyof typeof edges, graph: GraphName, parameters: object): Sql {
  const { from, to, key } = edges[what];
  const match = sql`MATCH (a:${from})-[r:${key}]->(b:${to})`;
  return statement(graph, sql`UNWIND $items AS item ${match} RETURN item.place`, parameters, sql`place`);
}

/** `label`: in Cypher, Entity or Event. */
export const removeNodes = (label: Sql, ids: readonly string[], space: number): Sql =>
  statement('live', sql`${nodesOf(label)} DETACH DELETE n`, { ids, space });

/** Those of these ids that are in the graph. */
export const existingIds = (label: Sql, ids: readonly string[], space: number): Sql =>
  statement('live', sql`${nodesOf(label)} RETURN n.id`, { ids, space }, sql`id`);

const nodesOf = (label: Sql): Sql => sql`UNWIND $ids AS one MATCH (n:${label} {id: one, space: $space})`;

export const allIds = (label: Sql, space: number): Sql =>
  statement('live', sql`MATCH (n:${label} {space: $space}) RETURN n.id`, { space }, sql`id`);

export const anyEntity = (): Sql => statement('live', sql`MATCH (n:Entity) RETURN n.id LIMIT 1`, {}, sql`id`);

// Creates a graph with labels and indexes, records its owner, and swaps in a rebuilt one.

const schemaNames = { live: identifier('nur'), rebuild: identifier('nur_rebuild') } as const;

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
  const created = sql`CREATE (o:Owner {schema: $owner, at: $at})`;
  await database.query(statement(graph, created, { owner, at: at.toISOString() }));
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
  const { rows } = await database.query<{ owner: string }>(
    statement('live', sql`MATCH (o:Owner) RETURN o.schema`, {}, sql`owner`),
  );
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
  // AGE 1.7 keeps the old name in the id defaults of label tables ("label_id must be 1 .. 65535" on the next write).
  // AGE's own two labels are never written to.
  for (const label of ['Entity', 'Event', 'ACTED_IN', 'ABOUT', 'POSSIBLY_SAME'])
    await database.query(
      rawSql(`alter table nur."${label}" alter column id set default
        _graphid(_label_id('nur', '${label}')::integer, nextval('nur."${label}_id_seq"'))`),
    );
}

/** When the rebuild started, and its position. */
export async function readProgress(
  database: Queryable,
): Promise<{ readonly since: Date; readonly position: string | null }> {
  const { rows: started } = await database.query<{ at: string }>(
    statement('rebuild', sql`MATCH (o:Owner) RETURN o.at`, {}, sql`at`),
  );
  const { rows } = await database.query<{ position: string }>(
    statement('rebuild', sql`MATCH (p:Progress) RETURN p.position`, {}, sql`position`),
  );
  return { since: new Date(started[0]?.at ?? 0), position: rows[0]?.position ?? null };
}

export async function writeProgress(database: Queryable, position: string): Promise<void> {
  const merged = sql`MERGE (p:Progress {id: 'rebuild'}) SET p.position = $position`;
  await database.query(statement('rebuild', merged, { position }));
}

// Expansion in Cypher: the participants of the seeds, then their other events. Ranked as in all backends.

export async function expandInAge(
  age: Queryable,
  request: ExpansionRequest,
): Promise<readonly RelatedEvent[]> {
  const { spaceId, seedEventIds } = request;
  const seeds = { seeds: seedEventIds, space: spaceId };
  const participants = (edge: Sql) => {
    const match = sql`MATCH (s:Event {id: seed, space: $space})${edge}(a:Entity)`;
    return cypher('live', sql`UNWIND $seeds AS seed ${match} RETURN a.id`, seeds, sql`id`);
  };
  const { rows: via } = await age.query<{ id: string; acts: boolean; isSubject: boolean }>(sql`
    select ${textOf(sql`id`)} as id, bool_or(acts) as acts, bool_or(not acts) as "isSubject"
    from (
      select id, true as acts from ${participants(sql`<-[:ACTED_IN]-`)}
      union all
      select id, false from ${participants(sql`-[:ABOUT]->`)}) as part
    group by 1`);
  if (via.length === 0) return [];
  const ids = via.map(({ id }) => id);
  const eventsOf = (edge: Sql) => {
    const match = sql`MATCH (a:Entity {id: one})${edge}(e:Event)`;
    return cypher(
      'live',
      sql`UNWIND $ids AS one ${match} RETURN a.id, e.id`,
      { ids },
      sql`entity agtype, event`,
    );
  };
  const { rows } = await age.query<RelatedEvent>(sql`
    with found as (
      select distinct ${textOf(sql`entity`)}::uuid as entity_id, ${textOf(sql`event`)}::uuid as event_id, kind
      from (
        select entity, event, 'same_actor:' as kind from ${eventsOf(sql`-[:ACTED_IN]->`)}
        union all
        select entity, event, 'same_subject:' from ${eventsOf(sql`<-[:ABOUT]-`)}) as part),
    newest as (
      select f.*, row_number() over (partition by f.entity_id, f.kind order by f.event_id desc) as place
      from found f join semantic_event e using (event_id) where ${isRelatable(request)}),
    near as (
      select n.entity_id, n.event_id, n.kind, case n.kind when 'same_actor:' then v.acts else v.is_subject end as is_same
      from newest n join unnest(${ids}::uuid[], ${via.map(({ acts }) => acts)}::boolean[],
        ${via.map(({ isSubject }) => isSubject)}::boolean[]) as v (entity_id, acts, is_subject) using (entity_id)
      where n.place <= ${maxPerEntity}),
    ${rankRelated(sql`near`, request)}`);
  return rows;
}
