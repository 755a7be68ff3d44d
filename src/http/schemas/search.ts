// Search over HTTP, in the founding document's shape.
import { z } from 'zod';
import type { SearchResponse, SearchRequest } from '../../knowledge/index.ts';
import { artifactTypes, eventCategories, searchDefaults } from '../../knowledge/index.ts';
import { spaceFields } from '../knowledge-space.ts';
import { hasNoNul, id, instant, isoOrNull, nulRefusal } from './fields.ts';

const whole = (min: number, max: number, standard: number) =>
  z.number().int().min(min).max(max).default(standard);

const dayOrInstant = z.union([instant, z.iso.date()], {
  error: 'must be a day or a moment in UTC, like 2026-03-01 or 2026-03-01T12:00:00Z',
});

export const searchBody = z
  .strictObject({
    query: z
      .string()
      .min(1)
      .max(10_000)
      .describe(
        'What to look for. "Words in quotes" weigh more together; a query that is all quotes finds only what holds them.',
      ),
    limit: whole(1, 50, searchDefaults.limit).describe('Results at most.'),
    filters: z
      .strictObject({
        types: z.array(z.enum(artifactTypes)).max(10).optional(),
        sources: z
          .array(z.string().min(1).max(200).refine(hasNoNul, nulRefusal))
          .max(50)
          .optional()
          .describe('Source systems.'),
        from: dayOrInstant
          .optional()
          .describe(
            'By the source’s time, or the time of ingest where it has none. A day: from its first moment.',
          ),
        to: dayOrInstant.optional().describe('A day: to its last moment, in UTC.'),
        categories: z
          .array(z.enum(eventCategories))
          .max(10)
          .optional()
          .describe('Only chunks with an event of one of these.'),
        entity_ids: z
          .array(id)
          .max(50)
          .optional()
          .describe('Only chunks that mention one of these, or whose document does as a whole.'),
      })
      .default({}),
    graph_expand: z
      .boolean()
      .default(searchDefaults.graphExpand)
      .describe('Also give events that share an actor or a subject with the first results.'),
    graph_budget: whole(0, 50, searchDefaults.graphBudget).describe('Related items at most.'),
    graph_seed_limit: whole(0, 50, searchDefaults.graphSeedLimit).describe(
      'How many of the first results are followed.',
    ),
    graph_filters: z
      .array(z.enum(eventCategories))
      .max(10)
      .default([])
      .describe('Only related events of these categories; none: all.'),
    include_entities: z
      .boolean()
      .default(searchDefaults.includeEntities)
      .describe('Also give who and what is mentioned.'),
    ...spaceFields,
  })
  .meta({ id: 'SearchRequest', description: 'A search in one space.' });

/** Where, as every other address of knowledge takes it too; what the body says counts first. */
export const searchQuery = z.strictObject(spaceFields);

const place = { start_char: z.number().int(), end_char: z.number().int() };

const hit = z.object({
  chunk_id: z.number().int(),
  artifact_uid: id,
  revision_id: id,
  type: z.enum(artifactTypes),
  source_system: z.string(),
  source_id: z.string(),
  title: z.string(),
  heading: z.string().nullable().describe('The headings above it, outermost first.'),
  source_ts: instant.nullable(),
  text: z.string(),
  ...place,
  score: z.number().describe('Comparable within one answer only.'),
  highlights: z
    .array(z.object({ start: z.number().int(), end: z.number().int() }))
    .describe('Places of the query’s words in `text`, in UTF-16 units.'),
});

const related = z.object({
  type: z.literal('event'),
  id,
  category: z.string(),
  reason: z.string().describe('`same_actor:NAME` or `same_subject:NAME`.'),
  summary: z.string(),
  event_time: instant.nullable(),
  artifact_uid: id,
  evidence: z.array(z.object({ quote: z.string(), artifact_uid: id, ...place })),
});

export const searchAnswer = z
  .object({
    primary_results: z.array(hit).describe('Best first.'),
    related_context: z
      .array(related)
      .nullable()
      .describe('Null unless graph_expand was asked for; empty when nothing was found.'),
    entities: z
      .array(
        z.object({
          entity_id: id,
          name: z.string(),
          type: z.string(),
          mentions: z.number().int(),
          relations: z
            .array(z.string())
            .describe('What sources say it is to the documents found: owner, author, folder, …'),
        }),
      )
      .nullable()
      .describe('Null unless include_entities was asked for.'),
    expand_options: z
      .array(z.object({ parameter: z.string(), describe: z.string(), values: z.string() }))
      .describe('What else could be asked for.'),
    warning: z.string().optional().describe('Everything that was left out; absent when nothing was.'),
  })
  .meta({ id: 'SearchResponse', description: 'Results, on wish with what is related to them.' });

const isDay = /^[\d-]+$/;

export function requestOf(body: z.infer<typeof searchBody>): SearchRequest {
  const { types, sources, from, to, categories, entity_ids: entityIds } = body.filters;
  return {
    query: body.query,
    limit: body.limit,
    filter: {
      ...(types === undefined ? {} : { types }),
      ...(sources === undefined ? {} : { sources }),
      ...(from === undefined ? {} : { from: new Date(from) }),
      ...(to === undefined ? {} : { to: new Date(isDay.test(to) ? `${to}T23:59:59.999Z` : to) }),
      ...(categories === undefined ? {} : { categories }),
      ...(entityIds === undefined ? {} : { entityIds }),
    },
    graphExpand: body.graph_expand,
    graphBudget: body.graph_budget,
    graphSeedLimit: body.graph_seed_limit,
    graphFilters: body.graph_filters,
    includeEntities: body.include_entities,
  };
}

export const viewOfSearch = (answer: SearchResponse): z.infer<typeof searchAnswer> => ({
  primary_results: answer.primaryResults.map((found) => ({
    chunk_id: found.chunkId,
    artifact_uid: found.artifactUid,
    revision_id: found.revisionId,
    type: found.type,
    source_system: found.sourceSystem,
    source_id: found.sourceId,
    title: found.title,
    heading: found.heading,
    source_ts: isoOrNull(found.sourceTs),
    text: found.text,
    start_char: found.startChar,
    end_char: found.endChar,
    score: found.score,
    highlights: [...found.highlights],
  })),
  related_context:
    answer.relatedContext?.map(({ eventTime, artifactUid, evidence, ...item }) => ({
      ...item,
      event_time: isoOrNull(eventTime),
      artifact_uid: artifactUid,
      evidence: evidence.map((proof) => ({
        quote: proof.quote,
        artifact_uid: proof.artifactUid,
        start_char: proof.startChar,
        end_char: proof.endChar,
      })),
    })) ?? null,
  entities:
    answer.entities?.map(({ entityId, relations, ...entity }) => ({
      entity_id: entityId,
      ...entity,
      relations: [...relations],
    })) ?? null,
  expand_options: [...answer.expandOptions],
  ...(answer.warning === null ? {} : { warning: answer.warning }),
});
