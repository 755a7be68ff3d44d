// Knowledge: events, search and the graph.
import { z } from 'zod';
import {
  actorRoles,
  artifactTypes,
  eventCategories,
  graphBackends,
  searchDefaults,
} from '../knowledge/vocabulary.ts';
import {
  after,
  count,
  isStorable,
  id,
  instant,
  next,
  storableMessage,
  pageSize,
  queryFlag,
  sourceId,
  sourceSystem,
  spaceFields,
  textRange,
} from './fields.ts';
import type { OutputOf } from './operation.ts';
import { operation } from './operation.ts';

const spaceQuery = z.strictObject(spaceFields);

export const KnowledgeEvent = z
  .object({
    id,
    artifact_id: id,
    revision_id: id,
    category: z.enum(eventCategories),
    event_time: instant.nullable().describe('When it happened; null: unknown.'),
    narrative: z.string().describe('What happened, in one sentence.'),
    subject: z.string().nullable().describe('What the event is about; null: unknown.'),
    confidence: z.number().describe('0 to 1.'),
    method: z.enum(['model', 'rules']).describe('What extracted it; rules are less certain.'),
    superseded_at: instant.nullable().describe('When a newer revision replaced it.'),
    actors: z
      .array(z.object({ entity_id: id, name: z.string(), role: z.enum(actorRoles) }))
      .describe('Entities that took part.'),
    subjects: z.array(z.object({ entity_id: id, name: z.string() })).describe('Entities that it is about.'),
    evidence: z
      .array(
        z.object({
          quote: z.string(),
          ...textRange,
        }),
      )
      .describe('Quotes that support it, at least one.'),
  })
  .meta({ id: 'KnowledgeEvent', description: 'An event with its participants and evidence.' });
export type KnowledgeEvent = z.infer<typeof KnowledgeEvent>;

export const eventsApi = {
  list: operation('GET /api/v1/knowledge/events', {
    id: 'events.list',
    summary: 'List events of a space, last extracted first',
    access: 'tenant',
    query: z.strictObject({
      category: z.enum(eventCategories).optional().describe('Only events of this category.'),
      entity_id: id.optional().describe('Only events in which this entity acts or that are about it.'),
      artifact_id: id.optional().describe('Only events of this artifact.'),
      from: instant.optional().describe('Only events at this time or later, such as 2026-03-01T00:00:00Z.'),
      to: instant.optional().describe('Only events at this time or earlier.'),
      include_superseded: queryFlag(false).describe('Include events of replaced revisions.'),
      limit: pageSize(500, 100),
      after,
      ...spaceFields,
    }),
    output: z.object({ events: z.array(KnowledgeEvent), next }).meta({ id: 'KnowledgeEvents' }),
  }),

  get: operation('GET /api/v1/knowledge/events/:id', {
    id: 'events.get',
    summary: 'Get an event with its participants and evidence',
    access: 'tenant',
    query: spaceQuery,
    output: KnowledgeEvent,
  }),
} as const;

const whole = (min: number, max: number, standard: number) =>
  z.number().int().min(min).max(max).default(standard);

const dayOrInstant = z.union([instant, z.iso.date()], {
  error: 'must be a day or a moment in UTC, like 2026-03-01 or 2026-03-01T12:00:00Z',
});

/** The response has the shape of the founding document. */
export const searchApi = {
  search: operation('POST /api/v1/knowledge/search', {
    id: 'search.run',
    summary: 'Search a space by words, vectors and optionally the graph',
    description:
      'What could not be searched (no vectors, a slow graph, chunks without vectors) is listed in `warning`; the ' +
      'other results are returned all the same.',
    access: 'tenant',
    audit: false,
    anyTextIn: ['query'],
    query: spaceQuery,
    body: z
      .strictObject({
        query: z
          .string()
          .min(1)
          .max(10_000)
          .describe(
            '"Quoted words" rank higher as a phrase; a query of quoted phrases only returns exact matches.',
          ),
        limit: whole(1, 50, searchDefaults.limit).describe('Maximum number of results.'),
        filters: z
          .strictObject({
            types: z
              .array(z.enum(artifactTypes))
              .max(10)
              .optional()
              .describe('Only documents of these types.'),
            sources: z
              .array(z.string().min(1).max(200).refine(isStorable, storableMessage))
              .max(50)
              .optional()
              .describe('Only documents of these source systems.'),
            from: dayOrInstant
              .optional()
              .describe(
                'Only documents from this time on: the time at the source, otherwise of the ingest. A date counts from its start.',
              ),
            to: dayOrInstant.optional().describe('A date includes the whole day, in UTC.'),
            categories: z
              .array(z.enum(eventCategories))
              .max(10)
              .optional()
              .describe('Only chunks with an event of one of these categories.'),
            entity_ids: z
              .array(id)
              .max(50)
              .optional()
              .describe(
                'Only chunks that mention one of these entities, and all chunks of documents whose fields mention one.',
              ),
          })
          .default({})
          .describe('Restrict what is searched.'),
        graph_expand: z
          .boolean()
          .default(searchDefaults.graphExpand)
          .describe('Also return events that share an actor or subject with the first results.'),
        graph_budget: whole(0, 50, searchDefaults.graphBudget).describe('Maximum number of related items.'),
        graph_seed_limit: whole(0, 50, searchDefaults.graphSeedLimit).describe(
          'Number of first results to expand.',
        ),
        graph_filters: z
          .array(z.enum(eventCategories))
          .max(10)
          .default([])
          .describe('Only related events of these categories; empty: all.'),
        include_entities: z
          .boolean()
          .default(searchDefaults.includeEntities)
          .describe('Also return mentioned entities.'),
        ...spaceFields,
      })
      .meta({ id: 'SearchRequest' }),
    output: z
      .object({
        primary_results: z
          .array(
            z.object({
              chunk_id: count,
              artifact_id: id,
              revision_id: id,
              type: z.enum(artifactTypes),
              source_system: sourceSystem,
              source_id: sourceId,
              title: z.string(),
              heading: z.string().nullable().describe('Headings above the chunk, outermost first.'),
              source_ts: instant.nullable().describe('When the document was written; null: unknown.'),
              text: z.string().describe('Text of the chunk.'),
              ...textRange,
              score: z.number().describe('Comparable within one response only.'),
              highlights: z
                .array(z.object({ start: count, end: count.describe('Offset after the match.') }))
                .describe('Matches in `text`, in UTF-16 units.'),
            }),
          )
          .describe('Best first.'),
        related_context: z
          .array(
            z.object({
              type: z.literal('event'),
              id,
              category: z.string(),
              reason: z.string().describe('`same_actor:NAME` or `same_subject:NAME`.'),
              summary: z.string().describe('Narrative of the event.'),
              event_time: instant.nullable().describe('When it happened; null: unknown.'),
              artifact_id: id.describe('Artifact from which the event was extracted.'),
              evidence: z
                .array(z.object({ quote: z.string(), artifact_id: id, ...textRange }))
                .describe('Quotes that support it.'),
            }),
          )
          .nullable()
          .describe('Null unless `graph_expand`; empty when nothing was found.'),
        entities: z
          .array(
            z.object({
              id,
              name: z.string(),
              type: z.string(),
              mentions: count.describe('Mentions in the chunks found.'),
              relations: z
                .array(z.string())
                .describe(
                  'Relations to the documents found, according to the sources: owner, author, folder, …',
                ),
            }),
          )
          .nullable()
          .describe('Null unless `include_entities`.'),
        expand_options: z
          .array(
            z.object({
              parameter: z.string(),
              describe: z.string().describe('Effect of the parameter.'),
              values: z.string().describe('Allowed values.'),
            }),
          )
          .describe(
            'Further parameters that refine the search: `graph_expand`, `graph_budget`, `graph_seed_limit`, `graph_filters` and `include_entities`.',
          ),
        warning: z.string().optional().describe('What could not be searched; absent when everything was.'),
      })
      .meta({ id: 'SearchResponse' }),
  }),
} as const;

export const graphApi = {
  get: operation('GET /api/v1/knowledge/graph', {
    id: 'graph.get',
    summary: 'Get the state of the graph',
    output: z
      .object({
        backend: z.enum(graphBackends).describe('Value of GRAPH_BACKEND.'),
        state: z.enum(['available', 'unavailable', 'off']),
        detail: z.string().nullable().describe('Why it is unavailable, and what to do.'),
      })
      .meta({ id: 'GraphStatus' }),
  }),

  rebuild: operation('POST /api/v1/knowledge/graph/rebuild', {
    id: 'graph.rebuild',
    summary: 'Rebuild the graph in the background and swap it in when it is complete',
    status: 202,
    output: z
      .object({
        job_id: z.string().nullable().describe('Null when a rebuild is already queued or running.'),
      })
      .meta({ id: 'GraphRebuildRequested' }),
  }),
} as const;

export type KnowledgeEvents = OutputOf<typeof eventsApi.list>;
export type SearchResponse = OutputOf<typeof searchApi.search>;
