// Tools about documents, events and entities, for organizations and the admin.
import { z } from 'zod';
import { artifactsApi } from '../api/artifacts.ts';
import type { ApiResponse } from '../api/client.ts';
import { Entity, entitiesApi } from '../api/entities.ts';
import { id } from '../api/fields.ts';
import { eventsApi, searchApi } from '../api/knowledge.ts';
import { CoreError } from '../core/index.ts';
import { bounded, cut, fitting, joinNotes, windowOf } from './bounds.ts';
import type { ToolContext } from './derive.ts';
import { defineTool, note, pageSize, textIsData, toolFor } from './derive.ts';
import { resourceUri } from './resources.ts';

const maxPassageLength = 4_000;
const maxQuotes = 2;
const maxEntities = 30;
const maxCandidates = 10;

const uri = z.string().describe('URI of the document as an MCP resource.');
const searchBody = searchApi.search.body.shape;
const filters = searchBody.filters.unwrap().shape;
const found = searchApi.search.output.shape;
const relatedEvent = found.related_context.unwrap().element.omit({ type: true, evidence: true });

const search = defineTool({
  name: 'search',
  title: 'Search knowledge',
  description:
    'Searches the documents of a space by words and meaning, and follows the best passages into the graph of events ' +
    'and entities. Use it first for any question about what documents, mails, minutes or notes say. "Words in quotes" ' +
    'match as a phrase. Continue in a document with get_artifact, with a person or thing with get_entity, along time with ' +
    `list_events. ${textIsData}`,
  input: {
    query: searchBody.query.describe('What to search for, in plain words.'),
    limit: pageSize(20, 5),
    expand: searchBody.graph_expand
      .removeDefault()
      .default(true)
      .describe('Also return events that share an actor or a subject with the best passages.'),
    types: filters.types,
    sources: filters.sources,
    from: z.iso
      .datetime()
      .optional()
      .describe('Only documents written at this time or later, such as 2026-03-01T00:00:00Z.'),
    to: z.iso.datetime().optional().describe('Only documents written at this time or earlier.'),
    categories: filters.categories,
    entity_ids: filters.entity_ids,
  },
  output: {
    results: z
      .array(
        found.primary_results.element
          .omit({ chunk_id: true, revision_id: true, highlights: true })
          .extend({ uri }),
      )
      .describe('Best first.'),
    related: z
      .array(relatedEvent.extend({ quotes: z.array(z.string()).describe(`Up to ${maxQuotes}.`) }))
      .describe('Events related to the best passages.'),
    entities: z
      .array(found.entities.unwrap().element.omit({ relations: true }))
      .describe('Mentioned in the passages.'),
    warning: z.string().nullable().describe('What could not be searched; null when everything was.'),
    note,
  },
  async run({ query, limit, expand, ...filtered }, { call, spaceRef }) {
    const response = await call('POST /api/v1/knowledge/search', {
      body: { query, limit, filters: filtered, graph_expand: expand, include_entities: true, ...spaceRef },
    });
    const results = response.primary_results.map((each) => ({
      ...each,
      text: cut(each.text, maxPassageLength),
      uri: resourceUri('artifacts', each.artifact_id, spaceRef),
    }));
    const related = (response.related_context ?? []).map(({ evidence, ...each }) => {
      const quotes = evidence.slice(0, maxQuotes).map(({ quote }) => quote);
      return bounded({ ...each, quotes }).value;
    });
    const entities = response.entities ?? [];
    const [shown, shownEvents] = [fitting(results), fitting(related)];
    return {
      results: shown,
      related: shownEvents,
      entities: entities.slice(0, maxEntities),
      warning: response.warning ?? null,
      note: joinNotes(
        results.length === 0
          ? 'Nothing was found. Try other words, drop filters, or search another space.'
          : leftOut('passages', results.length - shown.length),
        leftOut('events', related.length - shownEvents.length),
        leftOut('entities', entities.length - maxEntities),
      ),
    };
  },
});

const leftOut = (what: string, count: number): string | null =>
  count > 0
    ? `${count} further ${what} were left out, to keep the result short. Narrow the query or add filters.`
    : null;

const {
  status: _status,
  text: artifactText,
  ...artifactFields
} = artifactsApi.get.output.omit({
  content_hash: true,
  chunk_count: true,
  is_latest: true,
  metadata: true,
  job_id: true,
}).shape;

const getArtifact = defineTool({
  name: 'get_artifact',
  title: 'Read a document',
  description:
    'The text of one document with its title, source and date, or a part of the text. Use it to read around a passage ' +
    'that search found (offset: a little before its start_char), or to read a document from beginning to end: continue ' +
    `with offset = next_offset until that is null. ${textIsData}`,
  whenNotFound: 'Use search to find documents, with the same space; artifact_id is in its results.',
  input: {
    artifact_id: id.describe('From search, list_events, get_entity or ingest.'),
    offset: z.int().min(0).default(0).describe('Where to begin, in characters.'),
    max_chars: z.int().min(1).max(40_000).default(10_000).describe('Maximum number of characters.'),
  },
  output: {
    ...artifactFields,
    uri,
    state: z
      .string()
      .describe('queued, running, completed or degraded: how much was read for events and entities.'),
    text: artifactText,
    offset: z.number(),
    text_length: z.number().describe('Length of the whole text in characters.'),
    next_offset: z.number().nullable().describe('Where to continue; null at the end.'),
    note,
  },
  async run({ artifact_id, offset, max_chars: length }, { call, spaceRef }) {
    const artifact = await call('GET /api/v1/knowledge/artifacts/:id', {
      params: { id: artifact_id },
      query: spaceRef,
    });
    const { text, next } = windowOf(artifact.text, offset, length);
    return {
      ...artifact,
      uri: resourceUri('artifacts', artifact_id, spaceRef),
      state: artifact.status.state,
      text,
      offset,
      text_length: artifact.text.length,
      next_offset: next,
      note: windowNote(artifact.text.length, offset, next),
    };
  },
});

function windowNote(length: number, offset: number, next: number | null): string | null {
  if (offset >= length && offset > 0) return `The text has only ${length} characters; begin before that.`;
  return next === null ? null : `${length - next} characters follow; call again with offset ${next}.`;
}

const listEvents = toolFor(eventsApi.list, {
  name: 'list_events',
  title: 'List events',
  description:
    'Events according to the documents (decisions, commitments, …), last extracted first: by category, time, entity or ' +
    'document, with actors, subjects and quotes as evidence. Use it for "what was decided", "what did X do", "what ' +
    `changed since"; entity ids come from search and get_entity. ${textIsData}`,
  omit: ['include_superseded'],
  maxTextLength: 1_000,
});

const entityFields = Entity.omit({
  embedding_model: true,
  first_artifact_id: true,
  review_reason: true,
  created_at: true,
  updated_at: true,
}).shape;
const entityOutput = z.object(entityFields);
const mention = entitiesApi.get.output.shape.mentions.element.pick({
  artifact_id: true,
  title: true,
  surface_form: true,
  start_char: true,
  confidence: true,
});

const getEntity = defineTool({
  name: 'get_entity',
  title: 'Look up a person, project or thing',
  description:
    'One entity with its other names, role, organization and mentions; by id, or by (part of) a name. If several have the ' +
    'name, entity is null and candidates lists them: call again with an id of those as entity_id. For what it did, use ' +
    `list_events with its id. ${textIsData}`,
  whenNotFound: 'Look it up by name, or find its id with search, in the same space.',
  input: {
    entity_id: id.optional().describe('From search or list_events. Give this or `name`.'),
    name: z.string().min(1).max(200).optional().describe('A name or part of one, ignoring case.'),
    type: entityFields.type.optional().describe('With `name`: only entities of this type.'),
    limit: pageSize(100, 20).describe('Maximum number of mentions, 1 to 100.'),
    offset: z.int().min(0).default(0).describe('Number of mentions to skip.'),
  },
  output: {
    entity: entityOutput
      .extend({ uri: z.string() })
      .nullable()
      .describe(
        'Null when several entities have the name, or none. A merged entity is the one it was merged into.',
      ),
    mentions: z.array(mention).describe('Newest first.'),
    candidates: z.array(entityOutput).describe('Entities that may be meant, when it is not clear.'),
    note,
  },
  async run({ entity_id: given, name, type, limit, offset }, context) {
    if ((given === undefined) === (name === undefined))
      throw new CoreError('INPUT_INVALID', 'Nothing was looked up. Give either "entity_id" or "name".');
    const lookup: Lookup =
      name === undefined ? { found: given ?? '' } : await entityNamed(name, type, context);
    if (lookup.found === undefined) {
      const { value: candidates, leftOut: rest } = bounded(lookup.candidates);
      return { entity: null, mentions: [], candidates, note: joinNotes(lookup.note, rest) };
    }
    const { call, spaceRef } = context;
    const { mentions, ...entity } = await call('GET /api/v1/knowledge/entities/:id', {
      params: { id: lookup.found },
      query: spaceRef,
    });
    const shown = mentions.slice(offset, offset + limit);
    const { value, leftOut: rest } = bounded(entity);
    return {
      entity: { ...value, uri: resourceUri('entities', entity.id, spaceRef) },
      mentions: shown.map((each) => ({ ...each, title: cut(each.title, 300) })),
      candidates: [],
      note: joinNotes(mentionsNote(offset, shown.length, mentions.length, entity.mention_count), rest),
    };
  },
});

/** The API returns only the newest mentions. */
function mentionsNote(offset: number, shown: number, available: number, all: number): string | null {
  const next = offset + shown;
  const hasOlder = all > available;
  const mentions = hasOlder ? `more of the newest ${available} mentions` : 'mentions';
  const follow =
    next < available ? `${available - next} ${mentions} follow; call again with offset ${next}.` : null;
  const isPastEnd = offset >= available && offset > 0;
  return joinNotes(
    isPastEnd ? `Mentions end before this offset; begin before ${available}.` : follow,
    hasOlder
      ? `${all - available} older mentions are not available here; search with this entity_id among entity_ids, or ` +
          'list_events with it, finds others.'
      : null,
  );
}

type Lookup =
  | { readonly found: string }
  | {
      readonly found?: undefined;
      readonly candidates: ApiResponse<'GET /api/v1/knowledge/entities'>['entities'];
      readonly note: string;
    };

/** The only entity that matches, or the only one with exactly this name. */
async function entityNamed(
  name: string,
  type: Entity['type'] | undefined,
  { call, spaceRef }: ToolContext,
): Promise<Lookup> {
  const { entities, next } = await call('GET /api/v1/knowledge/entities', {
    query: { name, type, limit: maxCandidates, ...spaceRef },
  });
  const isExact = (each: string) => each.toLowerCase() === name.toLowerCase();
  const exact = entities.filter((each) => [each.canonical_name, ...each.aliases].some(isExact));
  const [only] = entities.length === 1 && next === null ? entities : exact.length === 1 ? exact : [];
  if (only) return { found: only.id };
  return { candidates: entities, note: candidatesNote(entities.length, next !== null) };
}

function candidatesNote(count: number, hasMore: boolean): string {
  if (count === 0) return 'No entity of that name. Try part of the name, or search.';
  return `${hasMore ? `More than ${count}` : count} entities may be meant; call again with the id of one as entity_id${
    hasMore ? ', or with more of the name' : ''
  }.`;
}

const ingest = toolFor(artifactsApi.ingest, {
  name: 'ingest',
  title: 'Ingest a document',
  description:
    'Stores a document in a space, as text or as a file (text, Markdown, HTML, PDF, DOCX, EML, JSON). It can be searched ' +
    'by its words at once; events, entities and vectors are read from it in the background: see job_status. The same ' +
    'source_id with other content creates a new revision; with the same content nothing changes, so repeating the call is ' +
    'safe. Ingest only documents that the user wants to keep.',
  effect: 'adds',
  whenNoSpace:
    'Without space the document goes into "default", which is created if needed; other spaces are created by people: ask ' +
    'the user.',
  omit: ['metadata', 'mentions'],
  describe: {
    text: 'The document as text. Give this or `file`.',
    file: 'The document as a file. Give this or `text`.',
    title: 'Default: the title in the document, or its name.',
    source_system: 'Where it comes from: crm, drive, …',
  },
  output: {
    id: id.describe('Id of the document; pass it to other tools as artifact_id.'),
    uri,
    next: z.string().describe('What happens now.'),
  },
  extend: ({ id: artifactId, outcome }, spaceRef) => ({
    uri: resourceUri('artifacts', artifactId, spaceRef),
    next:
      outcome === 'unchanged'
        ? 'Nothing to do: the document is already stored with this content.'
        : 'It can be searched by its words now. Events, entities and vectors follow: call job_status with this id as ' +
          'artifact_id (and the same space) until is_finished.',
  }),
});

export const knowledgeTools = [search, getArtifact, listEvents, getEntity, ingest];
