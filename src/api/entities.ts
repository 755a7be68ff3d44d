// Entities: people and things that documents mention, what may be the same, what was merged.
import { z } from 'zod';
import { entityTypes } from '../knowledge/vocabulary.ts';
import { after, count, id, instant, next, pageSize, queryFilter, spaceFields, textRange } from './fields.ts';
import type { OutputOf } from './operation.ts';
import { operation } from './operation.ts';

const spaceQuery = z.strictObject(spaceFields);
const surfaceForm = z.string().describe('Name as the document has it.');
const deciders = 'model, admin, split, or the id of an organization.';

export const Entity = z
  .object({
    id,
    type: z.enum(entityTypes),
    canonical_name: z.string().describe('Preferred one of its names.'),
    aliases: z.array(z.string()).describe('All other names, those of merged entities included.'),
    role: z.string().nullable().describe('Role of a person; null: not found in documents.'),
    organization: z.string().nullable().describe('Organization of a person; null: not found in documents.'),
    email: z.string().nullable().describe('Email address of a person; null: not found in documents.'),
    context_clues: z.array(z.string()).describe('Further details found in documents.'),
    embedding_model: z.string().nullable().describe('Model of its vector; null: it has none.'),
    first_artifact_id: id.nullable().describe('Artifact that mentioned it first; null: deleted since.'),
    needs_review: z.boolean().describe('It may be the same as another entity; see `review_reason`.'),
    review_reason: z
      .enum([
        'embedding-missing',
        'candidates-unknown',
        'confirmation-failed',
        'resolution-failed',
        'uncertain',
      ])
      .nullable()
      .describe('Why it needs a review.'),
    mention_count: count.describe('Mentions in latest revisions.'),
    event_count: count.describe('Events in latest revisions.'),
    created_at: instant,
    updated_at: instant,
  })
  .meta({ id: 'Entity', description: 'A person or thing that documents mention.' });
export type Entity = z.infer<typeof Entity>;

export const EntityPair = z
  .object({
    id,
    entity_a: id.describe('Id of the first entity.'),
    entity_b: id.describe('Id of the second entity.'),
    confidence: z.number().describe('Probability that they are the same, 0 to 1.'),
    reason: z.string().describe('Why they may be the same.'),
    evidence: z.record(z.string(), z.unknown()).describe('What supports and contradicts it.'),
    state: z
      .enum(['open', 'same', 'different', 'later'])
      .describe('The decision; `later`: at the end of the list of open pairs.'),
    decided_by: z.string().nullable().describe(`${deciders} Null while the pair is open.`),
    decided_at: instant.nullable().describe('Null while the pair is open.'),
    created_at: instant,
  })
  .meta({ id: 'EntityPair', description: 'Two entities that may be the same.' });
export type EntityPair = z.infer<typeof EntityPair>;

export const EntityMerge = z
  .object({
    id,
    winner_id: id.describe('Entity that stays.'),
    loser_id: id.describe('Entity that was merged into the winner.'),
    reason: z.string().describe('Why they were merged.'),
    decided_by: z.string().describe(deciders),
    merged_at: instant,
    undone_at: instant.nullable().describe('Null: the merge is in effect.'),
  })
  .meta({ id: 'EntityMerge', description: 'A merge; it can be undone.' });
export type EntityMerge = z.infer<typeof EntityMerge>;

const EntityDetail = Entity.extend({
  mentions: z
    .array(
      z.object({
        id,
        artifact_id: id,
        title: z.string(),
        surface_form: surfaceForm,
        start_char: textRange.start_char
          .nullable()
          .describe(`${textRange.start_char.description} Null: not from the text.`),
        end_char: textRange.end_char
          .nullable()
          .describe(`${textRange.end_char.description} Null: not from the text.`),
        method: z
          .string()
          .describe('What found it: `model`, `rules`, or `structured` for a field of the source.'),
        confidence: z.number().describe('0 to 1.'),
        relation: z
          .string()
          .nullable()
          .describe(
            'Relation to the document according to the source: owner, author, folder, …; null: found in the text.',
          ),
      }),
    )
    .describe('Mentions in latest revisions, newest first, at most 200.'),
  pairs: z.array(EntityPair).describe('Pairs of this entity and others that may be the same.'),
  merges: z.array(EntityMerge).describe('Merges that it took part in, newest first, at most 200.'),
}).meta({ id: 'EntityDetail', description: 'An entity with its mentions, pairs and merges.' });

export const entitiesApi = {
  list: operation('GET /api/v1/knowledge/entities', {
    id: 'entities.list',
    summary: 'List entities of a space, oldest first',
    access: 'tenant',
    query: z.strictObject({
      type: z.enum(entityTypes).optional().describe('Only entities of this type.'),
      needs_review: queryFilter.describe('Only entities that need a review, or only the others.'),
      name: z.string().min(1).max(200).optional().describe('Part of a name or alias, ignoring case.'),
      limit: pageSize(500, 100),
      after,
      ...spaceFields,
    }),
    output: z.object({ entities: z.array(Entity), next }).meta({ id: 'Entities' }),
  }),

  get: operation('GET /api/v1/knowledge/entities/:id', {
    id: 'entities.get',
    summary: 'Get an entity with its mentions, pairs and merges',
    description: 'The id of a merged entity returns the one it was merged into.',
    access: 'tenant',
    query: spaceQuery,
    output: EntityDetail,
  }),

  listRelated: operation('GET /api/v1/knowledge/entities/:id/related', {
    id: 'entities.list-related',
    summary: 'List the events of an entity and the other entities that take part in them',
    access: 'tenant',
    query: z.strictObject({ limit: pageSize(200, 50), ...spaceFields }),
    output: z
      .object({
        nodes: z
          .array(
            z.object({
              id: z.string(),
              kind: z.enum(['entity', 'event']),
              label: z.string().describe('Name of the entity, or narrative of the event.'),
              type: z.string().describe('Type of the entity, or category of the event.'),
            }),
          )
          .describe('The entity itself first.'),
        edges: z.array(
          z.object({
            from: z.string().describe('Id of a node.'),
            to: z.string().describe('Id of a node.'),
            kind: z.enum(['ACTED_IN', 'ABOUT', 'POSSIBLY_SAME']),
            role: z.string().nullable().describe('Role in an ACTED_IN edge: owner, contributor, reviewer, …'),
          }),
        ),
      })
      .meta({ id: 'RelatedEntities' }),
  }),

  split: operation('POST /api/v1/knowledge/entities/:id/split', {
    id: 'entities.split',
    summary: 'Split mentions off into a new entity, with the events nearest to them',
    description: 'Merging the two again undoes it.',
    access: 'tenant',
    query: spaceQuery,
    body: z
      .strictObject({
        mention_ids: z.array(id).min(1).max(1_000).describe('Mentions of the new entity.'),
        name: z.string().min(1).max(300).describe('Name of the new entity.'),
      })
      .meta({ id: 'EntitySplitRequest' }),
    status: 201,
    output: EntityDetail,
  }),

  merge: operation('POST /api/v1/knowledge/merges', {
    id: 'entities.merge',
    summary: 'Merge two entities',
    access: 'tenant',
    query: spaceQuery,
    body: z
      .strictObject({
        winner_id: id.describe('The entity that stays.'),
        loser_id: id.describe('Merged into the winner.'),
        reason: z.string().min(1).max(500).default('Merged by hand.').describe('Why; kept with the merge.'),
      })
      .meta({ id: 'EntityMergeRequest' }),
    status: 201,
    output: EntityMerge,
  }),

  undoMerge: operation('POST /api/v1/knowledge/merges/:id/undo', {
    id: 'entities.undo-merge',
    summary: 'Undo a merge; later merges into the same winner stay',
    description:
      'Mentions made after the merge under the name of the loser move back with it; ambiguous ones are listed.',
    access: 'tenant',
    query: spaceQuery,
    output: EntityMerge.extend({
      later_mentions: z
        .object({
          moved: count.describe('Mentions that moved back to the loser.'),
          unclear: z
            .array(z.object({ id, surface_form: surfaceForm }))
            .describe(
              'Both entities have this name: they stay with the winner; split them off. At most 100.',
            ),
        })
        .describe('Mentions made after the merge.'),
    }).meta({ id: 'UndoneMerge' }),
  }),

  listPairs: operation('GET /api/v1/knowledge/pairs', {
    id: 'entities.list-pairs',
    summary: 'List pairs of entities that await a review, highest confidence first',
    access: 'tenant',
    query: z.strictObject({ limit: pageSize(100, 20), ...spaceFields }),
    output: z
      .object({
        pairs: z.array(
          EntityPair.extend({
            a: Entity.describe('First entity of the pair.'),
            b: Entity.describe('Second entity of the pair.'),
            as_of: instant.describe('When both entities were read; pass it with the decision.'),
          }),
        ),
      })
      .meta({ id: 'EntityReview' }),
  }),

  decidePair: operation('POST /api/v1/knowledge/pairs/:id/verdict', {
    id: 'entities.decide-pair',
    summary: 'Decide whether two entities are the same',
    description:
      'With `as_of`, a decision that others have overtaken is rejected with 409: `same` if one of the entities was merged with ' +
      'another since, `same` and `later` if someone decided `different` since. Without it, `same` counts from the creation of ' +
      'the pair, and `later` is always accepted.',
    access: 'tenant',
    query: spaceQuery,
    body: z
      .strictObject({
        verdict: z
          .enum(['same', 'different', 'later'])
          .describe('`same` merges them, `different` is final, `later` moves the pair to the end.'),
        as_of: instant
          .optional()
          .describe('`as_of` of the pair as you read it, or `decided_at` of your own last decision.'),
      })
      .meta({ id: 'EntityVerdict' }),
    output: EntityPair,
  }),
} as const;

export type EntityDetail = z.infer<typeof EntityDetail>;
export type RelatedEntities = OutputOf<typeof entitiesApi.listRelated>;
export type EntityReview = OutputOf<typeof entitiesApi.listPairs>;
