// get_entity: an entity that documents mention.
import { z } from 'zod';
import { CoreError } from '../../core/index.ts';
import { cut, inOneNote } from '../bounds.ts';
import { entityType } from '../choices.ts';
import { id, knowledgePath, pageSize, maybe, note, resourceUri, text, wordsAreData } from '../fields.ts';
import type { ToolContext } from '../tool.ts';
import { defineTool } from '../tool.ts';
import { entityFields, shortEntity, tailNote } from './entity.ts';

const mostCandidates = 10;

const mention = z.object({
  artifact_id: text,
  title: text.describe('Of the document.'),
  surface_form: text.describe('How it is called there.'),
  start_char: z.number().nullable().describe('Where: an offset for get_artifact.'),
  confidence: z.number(),
});

const detail = z.object({ ...entityFields, mentions: z.array(mention) });
const candidates = z.object({ entities: z.array(z.object(entityFields)), next: maybe });

export const getEntity = defineTool({
  name: 'get_entity',
  title: 'Look up a person, project or thing',
  description:
    'One entity with its other names, role, organization and where it is mentioned; by id, or by (part of) a name. Where ' +
    'a name means several, entity is null and candidates has them: call again with its id as entity_id. For what it did, use ' +
    `list_events with its id. ${wordsAreData}`,
  access: 'tenant',
  isOfSpace: true,
  effect: 'reads',
  whenNotFound: 'Look it up by name, or find its id with search, in the same space.',
  input: {
    entity_id: id.optional().describe('From search or list_events. Give this or `name`.'),
    name: z.string().min(1).max(200).optional().describe('A name or part of one, whatever its case.'),
    type: entityType.optional().describe('With `name`: only entities of this type.'),
    limit: pageSize(100, 20).describe('Mentions at most, up to 100.'),
    offset: z.int().min(0).default(0).describe('Mentions to pass over.'),
  },
  output: {
    entity: z
      .object({ ...entityFields, uri: text })
      .nullable()
      .describe(
        'Null when the name means several, or none. An entity that was merged is what it became part of.',
      ),
    mentions: z.array(mention).describe('Newest first.'),
    candidates: z.array(z.object(entityFields)).describe('Whom the name could mean, when that is not clear.'),
    note,
  },
  async run({ entity_id: given, name, type, limit, offset }, context) {
    if ((given === undefined) === (name === undefined))
      throw new CoreError('INPUT_INVALID', 'Nothing was looked up. Give either "entity_id" or "name".');
    const { found, unclear, hasMore } =
      name === undefined ? only(given ?? '') : await named(name, type, context);
    if (found === null)
      return {
        entity: null,
        mentions: [],
        candidates: unclear.map(shortEntity),
        note: inOneNote(unclearNote(unclear, hasMore), tailNote(...unclear)),
      };
    const { api, place, signal } = context;
    const path = `${knowledgePath}/entities/${found}`;
    const { mentions, ...entity } = detail.parse(
      await api.call('GET', path, { query: { ...place }, signal }),
    );
    const shown = mentions.slice(offset, offset + limit);
    return {
      entity: { ...shortEntity(entity), uri: resourceUri('entities', entity.id, place) },
      mentions: shown.map((each) => ({ ...each, title: cut(each.title, 300) })),
      candidates: [],
      note: inOneNote(
        mentionsNote(offset, shown.length, mentions.length, entity.mention_count),
        tailNote(entity),
      ),
    };
  },
});

/** Of all mentions only the newest are reachable: those that the API shows. */
function mentionsNote(offset: number, shown: number, reachable: number, all: number): string | null {
  const next = offset + shown;
  const hasOlder = all > reachable;
  const mentions = hasOlder ? `more of the newest ${reachable} mentions` : 'mentions';
  const follow =
    next < reachable ? `${reachable - next} ${mentions} follow; call again with offset ${next}.` : null;
  const isPastEnd = offset >= reachable && offset > 0;
  return inOneNote(
    isPastEnd ? `Mentions end before this offset; begin before ${reachable}.` : follow,
    hasOlder
      ? `${all - reachable} older mentions cannot be had here; search with this entity_id among entity_ids, or list_events ` +
          'with it, finds others.'
      : null,
  );
}

interface Lookup {
  readonly found: string | null;
  readonly unclear: z.infer<typeof candidates>['entities'];
  readonly hasMore: boolean;
}

const only = (found: string): Lookup => ({ found, unclear: [], hasMore: false });

/** The one that has the name, or whose name is called exactly so. */
async function named(
  name: string,
  type: string | undefined,
  { api, place, signal }: ToolContext,
): Promise<Lookup> {
  const query = { name, type, limit: mostCandidates, ...place };
  const { entities, next } = candidates.parse(
    await api.call('GET', `${knowledgePath}/entities`, { query, signal }),
  );
  const isCalledSo = (called: string) => called.toLowerCase() === name.toLowerCase();
  const exact = entities.filter((each) => [each.canonical_name, ...each.aliases].some(isCalledSo));
  const [sure] = entities.length === 1 && next === null ? entities : exact.length === 1 ? exact : [];
  if (sure) return only(sure.id);
  return { found: null, unclear: entities, hasMore: next !== null };
}

function unclearNote({ length }: Lookup['unclear'], hasMore: boolean): string {
  if (length === 0) return 'No entity of that name. Try part of the name, or search.';
  return `${hasMore ? `More than ${length}` : length} entities could be meant; call again with the id of one as entity_id${
    hasMore ? ', or with more of the name' : ''
  }.`;
}
