// Everything that is said to AGE, as constant text. What comes from documents goes in as one parameter, a map, which
// cypher() takes as its third argument: a name that is Cypher or SQL stays a name.
// AGE 1.7: no [:A|B], no ON CREATE; MERGE of an edge stores broken edges without a word, hence NOT EXISTS and CREATE.
import type { Sql } from '../../platform/postgres/sql.ts';
import { json, sql } from '../../platform/postgres/sql.ts';

/** The graph that answers, and the one that a rebuild makes beside it. cypher() wants their names as literals. */
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

/** Reads back with both ends: which of the list are in. */
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

/** Ids hold no quotes, so that taking those around them away gives the text. */
export function textOf(value: Sql): Sql {
  return sql`trim(both '"' from ${value}::text)`;
}
