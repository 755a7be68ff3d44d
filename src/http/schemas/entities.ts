// Entities of knowledge over HTTP: who is known, what may be the same, what was merged.
import { z } from 'zod';
import type {
  EntityDetail,
  EntityMerge,
  EntityPair,
  EntityView,
  UndoneMerge,
} from '../../knowledge/index.ts';
import { entityTypes } from '../../knowledge/index.ts';
import { spaceFields } from '../knowledge-space.ts';
import { id, instant, isoOrNull, limitOf } from './fields.ts';

const entityFields = {
  entity_id: id,
  type: z.enum(entityTypes),
  canonical_name: z.string().describe('What it goes by.'),
  aliases: z.array(z.string()).describe('Everything else it was called, also what was merged into it.'),
  role: z.string().nullable(),
  organization: z.string().nullable(),
  email: z.string().nullable(),
  context_clues: z.array(z.string()).describe('What else is known, as it was read.'),
  embedding_model: z.string().nullable().describe('Who made its vector; null: it has none.'),
  first_artifact_uid: id.nullable(),
  needs_review: z.boolean(),
  review_reason: z
    .enum([
      'embedding-missing',
      'candidates-unknown',
      'confirmation-failed',
      'resolution-failed',
      'uncertain',
    ])
    .nullable()
    .describe('Why it waits for another look.'),
  mention_count: z.number().int().describe('Of latest revisions.'),
  event_count: z.number().int().describe('Of latest revisions.'),
  created_at: instant,
  updated_at: instant,
};

export const entityView = z
  .object(entityFields)
  .meta({ id: 'Entity', description: 'Somebody or something that documents mention.' });

export const entityPairView = z
  .object({
    pair_id: id,
    entity_a: id,
    entity_b: id,
    confidence: z.number().describe('0 to 1 that they are the same.'),
    reason: z.string(),
    evidence: z.record(z.string(), z.unknown()).describe('What speaks for and against it.'),
    state: z.enum(['open', 'same', 'different', 'later']),
    decided_by: z.string().nullable().describe('model, admin, split, or the organization’s id.'),
    decided_at: instant.nullable(),
    created_at: instant,
  })
  .meta({ id: 'EntityPair', description: 'Two entities that may be the same.' });

export const entityMergeView = z
  .object({
    merge_id: id,
    winner_id: id,
    loser_id: id.describe('It became part of the winner.'),
    reason: z.string(),
    decided_by: z.string(),
    merged_at: instant,
    undone_at: instant.nullable(),
  })
  .meta({ id: 'EntityMerge', description: 'A merge; it can be undone.' });

export const undoneMergeView = entityMergeView
  .extend({
    later_mentions: z
      .object({
        moved: z.number().int().describe('So many mean the loser by name, and went with it.'),
        unclear: z
          .array(z.object({ mention_id: id, surface_form: z.string() }))
          .describe(
            'Both are called that: they stay with the winner. Part them with a split. At most a hundred.',
          ),
      })
      .describe('Mentions that were made after the merge.'),
  })
  .meta({
    id: 'UndoneMerge',
    description: 'A merge that was undone, and what became of what came after it.',
  });

export const entityDetail = z
  .object({
    ...entityFields,
    mentions: z
      .array(
        z.object({
          mention_id: id,
          artifact_uid: id,
          title: z.string(),
          surface_form: z.string(),
          start_char: z.number().int().nullable(),
          end_char: z.number().int().nullable(),
          method: z.string(),
          confidence: z.number(),
          relation: z
            .string()
            .nullable()
            .describe(
              'What the source says it is to the document: owner, author, folder, … Null of what was read in the text.',
            ),
        }),
      )
      .describe('Of latest revisions, newest first, at most 200.'),
    pairs: z.array(entityPairView),
    merges: z.array(entityMergeView),
  })
  .meta({ id: 'EntityDetail', description: 'An entity with where it is mentioned and what became of it.' });

export const entitiesQuery = z.strictObject({
  type: z.enum(entityTypes).optional(),
  needs_review: z
    .stringbool()
    .optional()
    .describe('Only those that wait for another look, or only the others.'),
  name: z.string().min(1).max(200).optional().describe('Part of a name or alias, whatever its case.'),
  limit: limitOf(500, 100),
  after: id.optional().describe('Only entities after this one: `next` of the page before.'),
  ...spaceFields,
});

export const entitiesAnswer = z
  .object({
    entities: z.array(entityView),
    next: z.string().nullable().describe('Give it as `after` for the next page.'),
  })
  .meta({ id: 'Entities', description: 'Entities, the oldest first.' });

export const entityQuery = z.strictObject(spaceFields);

export const mergeBody = z
  .strictObject({
    winner_id: id.describe('It stays.'),
    loser_id: id.describe('Everything of it goes to the winner.'),
    reason: z.string().min(1).max(500).default('Merged by hand.'),
  })
  .meta({ id: 'EntityMergeRequest' });

export const splitBody = z
  .strictObject({
    mention_ids: z.array(id).min(1).max(1_000).describe('Mentions that mean somebody else.'),
    name: z.string().min(1).max(300).describe('What the new entity is called.'),
  })
  .meta({ id: 'EntitySplitRequest' });

export const reviewQuery = z.strictObject({ limit: limitOf(100, 20), ...spaceFields });

export const reviewAnswer = z
  .object({
    pairs: z.array(
      entityPairView.extend({
        a: entityView,
        b: entityView,
        as_of: instant.describe('When both sides were read: give it back with the verdict.'),
      }),
    ),
  })
  .meta({
    id: 'EntityReview',
    description: 'Pairs that wait for an answer, surest first, both sides as they are now.',
  });

export const verdictBody = z
  .strictObject({
    verdict: z
      .enum(['same', 'different', 'later'])
      .describe('same: merged. different: never asked again. later: asked last.'),
    as_of: instant
      .optional()
      .describe(
        'Of the pair as you read it, or `decided_at` of your own last verdict. `same` is refused with 409 when a side was merged with another since, `same` and `later` when somebody said `different` since. Without `as_of`, `same` counts from when the pair was made, and `later` is always taken.',
      ),
  })
  .meta({ id: 'EntityVerdict' });

export const viewOfEntity = (entity: EntityView): z.infer<typeof entityView> => ({
  entity_id: entity.entityId,
  type: entity.type,
  canonical_name: entity.canonicalName,
  aliases: [...entity.aliases],
  role: entity.role,
  organization: entity.organization,
  email: entity.email,
  context_clues: [...entity.contextClues],
  embedding_model: entity.embeddingModel,
  first_artifact_uid: entity.firstArtifactUid,
  needs_review: entity.needsReview,
  review_reason: entity.reviewReason,
  mention_count: entity.mentionCount,
  event_count: entity.eventCount,
  created_at: entity.createdAt.toISOString(),
  updated_at: entity.updatedAt.toISOString(),
});

export const viewOfPair = (pair: EntityPair): z.infer<typeof entityPairView> => ({
  pair_id: pair.pairId,
  entity_a: pair.entityA,
  entity_b: pair.entityB,
  confidence: pair.confidence,
  reason: pair.reason,
  evidence: { ...pair.evidence },
  state: pair.state,
  decided_by: pair.decidedBy,
  decided_at: isoOrNull(pair.decidedAt),
  created_at: pair.createdAt.toISOString(),
});

export const viewOfMerge = (merge: EntityMerge): z.infer<typeof entityMergeView> => ({
  merge_id: merge.mergeId,
  winner_id: merge.winnerId,
  loser_id: merge.loserId,
  reason: merge.reason,
  decided_by: merge.decidedBy,
  merged_at: merge.mergedAt.toISOString(),
  undone_at: isoOrNull(merge.undoneAt),
});

export const viewOfUndoneMerge = ({
  later: { moved, unclear },
  ...merge
}: UndoneMerge): z.infer<typeof undoneMergeView> => ({
  ...viewOfMerge(merge),
  later_mentions: {
    moved,
    unclear: unclear.map(({ mentionId, surfaceForm }) => ({
      mention_id: mentionId,
      surface_form: surfaceForm,
    })),
  },
});

export const viewOfEntityDetail = (entity: EntityDetail): z.infer<typeof entityDetail> => ({
  ...viewOfEntity(entity),
  mentions: entity.mentions.map((mention) => ({
    mention_id: mention.mentionId,
    artifact_uid: mention.artifactUid,
    title: mention.title,
    surface_form: mention.surfaceForm,
    start_char: mention.startChar,
    end_char: mention.endChar,
    method: mention.method,
    confidence: mention.confidence,
    relation: mention.relation,
  })),
  pairs: entity.pairs.map(viewOfPair),
  merges: entity.merges.map(viewOfMerge),
});
