// search: passages that answer a question, with what is related to them.
import { z } from 'zod';
import { cut, fitting, inOneNote } from '../bounds.ts';
import { artifactType, eventCategory } from '../choices.ts';
import {
  id,
  instant,
  knowledgePath,
  pageSize,
  maybe,
  note,
  resourceUri,
  text,
  wordsAreData,
} from '../fields.ts';
import { defineTool } from '../tool.ts';

const longestPassage = 4_000;
const longestQuote = 400;
const mostQuotes = 2;
const mostEntities = 30;

const hit = z.object({
  artifact_id: text,
  title: text,
  type: text,
  heading: maybe.describe('The headings above the passage.'),
  source_system: text,
  source_id: text,
  source_ts: maybe.describe('When the source says it was written.'),
  text: text.describe('The passage.'),
  start_char: z.number().describe('Where it begins in the document: an offset for get_artifact.'),
  end_char: z.number(),
  score: z.number().describe('Comparable within this answer only.'),
});

const entity = z.object({ id: text, name: text, type: text, mentions: z.number() });

const event = { category: text, summary: text, event_time: maybe, artifact_id: text };

/** As much of the API's answer as we tell. */
const found = z.object({
  primary_results: z.array(hit),
  related_context: z
    .array(z.object({ ...event, id: text, reason: text, evidence: z.array(z.object({ quote: text })) }))
    .nullable(),
  entities: z.array(entity).nullable(),
  warning: text.optional(),
});

export const search = defineTool({
  name: 'search',
  title: 'Search knowledge',
  description:
    'Searches the documents of a space by words and meaning, and follows the best passages into the graph of events ' +
    'and entities. Use it first for any question about what documents, mails, minutes or notes say. "Words in quotes" ' +
    'belong together. Read on in a document with get_artifact, about somebody with get_entity, along time with ' +
    `list_events. ${wordsAreData}`,
  access: 'tenant',
  isOfSpace: true,
  effect: 'reads',
  input: {
    query: z.string().min(1).max(10_000).describe('What to look for, in plain words.'),
    limit: pageSize(20, 5),
    expand: z
      .boolean()
      .default(true)
      .describe('Also events that share an actor or a subject with the best passages.'),
    types: z.array(artifactType).max(10).optional().describe('Only documents of these types.'),
    sources: z.array(z.string().min(1).max(200)).max(50).optional().describe('Only of these source systems.'),
    from: instant.optional().describe('Only documents written then or later, such as 2026-03-01T00:00:00Z.'),
    to: instant.optional(),
    categories: z.array(eventCategory).max(10).optional().describe('Only passages with such an event.'),
    entity_ids: z.array(id).max(50).optional().describe('Only passages that mention one of these entities.'),
  },
  output: {
    results: z
      .array(hit.extend({ uri: text.describe('Of the document, as a resource.') }))
      .describe('Best first.'),
    related: z
      .array(
        z.object({
          id: text,
          ...event,
          reason: text.describe('How it is related: `same_actor:NAME` or `same_subject:NAME`.'),
          quotes: z.array(text).describe(`Up to ${mostQuotes}.`),
        }),
      )
      .describe('Events related to the best passages.'),
    entities: z.array(entity).describe('Who and what the passages mention.'),
    warning: maybe.describe('What the search had to do without; null when nothing.'),
    note,
  },
  async run(
    { query, limit, expand, types, sources, from, to, categories, entity_ids },
    { api, place, signal },
  ) {
    const filters = { types, sources, from, to, categories, entity_ids };
    const body = { query, limit, filters, graph_expand: expand, include_entities: true, ...place };
    const answer = found.parse(await api.call('POST', `${knowledgePath}/search`, { body, signal }));
    const results = answer.primary_results.map((each) => ({
      ...each,
      text: cut(each.text, longestPassage),
      uri: resourceUri('artifacts', each.artifact_id, place),
    }));
    const related = (answer.related_context ?? []).map(({ evidence, ...each }) => ({
      ...each,
      summary: cut(each.summary, longestQuote),
      quotes: evidence.slice(0, mostQuotes).map(({ quote }) => cut(quote, longestQuote)),
    }));
    const entities = answer.entities ?? [];
    const [shown, shownEvents] = [fitting(results), fitting(related)];
    return {
      results: [...shown],
      related: [...shownEvents],
      entities: entities.slice(0, mostEntities),
      warning: answer.warning ?? null,
      note: inOneNote(
        results.length === 0
          ? 'Nothing was found. Try other words, drop filters, or look in another space.'
          : leftOut('passages', results.length - shown.length),
        leftOut('events', related.length - shownEvents.length),
        leftOut('entities', entities.length - mostEntities),
      ),
    };
  },
});

const leftOut = (what: string, count: number): string | null =>
  count > 0
    ? `${count} further ${what} were left out, to keep the answer short. Narrow the query or add filters.`
    : null;
