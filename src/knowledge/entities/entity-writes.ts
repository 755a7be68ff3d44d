// Writes entities, their names, and additions to existing ones, in one statement.
import { CoreError } from '../../core/index.ts';
import type { Queryable, Transaction } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { sql, storedJson } from '../../platform/postgres/sql.ts';
import { searchedTexts, trigramThreshold } from './candidate-queries.ts';
import type { EntityAddition, EntityDraft, EntityEmbedding, MentionPlace, ResolutionPlan } from './types.ts';

/** Notes kept per entity. */
const maxNotes = 50;

/** `place`: the source of the entities and names; null: a person. */
interface EntityWrites extends Pick<ResolutionPlan, 'drafts' | 'additions' | 'unsettled'> {
  readonly place: ResolutionPlan['place'] | null;
}

const lockName = (schema: string, spaceId: number): string => `${schema}:knowledge-entities:${spaceId}`;

/**
 * One writer of entities per space until the transaction ends; other spaces and readers are not affected. Also turns
 * off sequential scans until then: see knowledge_find_entities.
 */
export async function lockEntities(transaction: Transaction, schema: string, spaceId: number): Promise<void> {
  await transaction.query(sql`
    select set_config('enable_seqscan', 'off', true),
      pg_advisory_xact_lock(hashtextextended(${lockName(schema, spaceId)}, 0))`);
}

/** Keeps the revision the latest until the transaction ends. Fails with CONFLICT when it was removed or revised. */
export async function lockRevision(
  transaction: Transaction,
  { spaceId, revisionId }: Pick<MentionPlace, 'spaceId' | 'revisionId'>,
): Promise<void> {
  const { rows } = await transaction.query(sql`
    select from artifact_revision where revision_id = ${revisionId}::uuid and space_id = ${spaceId} and is_latest
    for share`);
  if (rows.length === 0)
    throw new CoreError('CONFLICT', 'The artifact was removed or revised while it was read.');
}

/** After `lockEntities`: writers that searched for candidates before and found these search again. */
export async function touchEntities(
  transaction: Transaction,
  spaceId: number,
  entityIds: readonly string[],
): Promise<void> {
  await transaction.query(sql`select knowledge_touch_entities(${spaceId}::integer, ${entityIds}::uuid[])`);
}

/** Runs in the caller's transaction, after `lockEntities`. */
export async function writeEntities(
  transaction: Transaction,
  spaceId: number,
  writes: EntityWrites,
  at: Date,
): Promise<void> {
  if (writes.drafts.length + writes.additions.length + writes.unsettled.length > 0)
    await transaction.query(sql`select knowledge_put_entities(${parametersOf(spaceId, writes, at)})`);
}

/**
 * Writes in one round trip. Returns false and writes nothing if something changed since the search: the revision is
 * gone or no longer the latest, the search would find what others wrote since, or an entity to add to is gone, merged
 * or changed.
 */
export async function writeEntitiesAsSeen(
  queryable: Queryable,
  schema: string,
  spaceId: number,
  plan: ResolutionPlan,
  at: Date,
  { withTrigrams, signal }: { readonly withTrigrams: boolean; readonly signal?: AbortSignal },
): Promise<boolean> {
  const live = [...new Set([...plan.additions.map(({ entityId }) => entityId), ...plan.unsettled])];
  const { names, emails, keys, alike } = searchedTexts(plan.search?.queries ?? [], withTrigrams);
  const { rows } = await queryable.query<{ isWritten: boolean }>(
    sql`
    select knowledge_put_entities_as_seen(${parametersOf(spaceId, plan, at)}, ${plan.place.revisionId}::uuid,
      ${plan.search?.version ?? null}::bigint, ${[...names.keys()]}::text[], ${[...emails.keys()]}::text[],
      ${[...keys.keys()]}::text[], ${[...alike.keys()]}::text[], ${trigramThreshold}::real, ${live}::uuid[],
      ${lockName(schema, spaceId)}::text) as "isWritten"`,
    { isFrequent: true, ...(signal ? { signal } : {}) },
  );
  return rows[0]?.isWritten === true;
}

/** The parameters that both functions start with. */
function parametersOf(spaceId: number, { drafts, additions, unsettled, place }: EntityWrites, at: Date): Sql {
  const names = [
    ...drafts.map((draft) => ({ id: draft.entity.entityId, names: draft.names })),
    ...additions.map((addition) => ({ id: addition.entityId, names: addition.names })),
  ].flatMap(({ id, names: own }) =>
    own.map(({ alias, normalizedAlias: normalized, keys }) => ({ id, alias, normalized, keys })),
  );
  const entities = drafts.map((draft) => entityRow(draft, place));
  const changes = [
    ...additions.filter(isDistinctive).map(additionRow),
    ...unsettled.map((id) => ({ id, namesakes: 'unsettled' })),
  ];
  return sql`${spaceId}::integer, ${place?.artifactUid ?? null}::uuid, ${at}::timestamptz, ${storedJson(entities)}::jsonb,
    ${storedJson(names)}::jsonb, ${storedJson(changes)}::jsonb,
    ${maxNotes}::integer`;
}

const entityRow = (
  { entity, clues, reviewReason, namesakes }: EntityDraft,
  place: EntityWrites['place'],
) => ({
  id: entity.entityId,
  type: entity.type,
  name: entity.canonicalName,
  normalized: entity.normalizedName,
  ...clues,
  artifact: place?.artifactUid ?? null,
  revision: place?.revisionId ?? null,
  review: reviewReason,
  namesakes,
});

const additionRow = ({ entityId, clues, betterName }: EntityAddition) => ({
  id: entityId,
  ...clues,
  name: betterName?.canonicalName ?? null,
  normalized: betterName?.normalizedName ?? null,
});

/** Whether it adds more than a spelling. */
const isDistinctive = ({ clues, betterName }: EntityAddition): boolean =>
  betterName !== null ||
  clues.notes.length > 0 ||
  [clues.role, clues.organization, clues.email].some((clue) => clue !== null);

export async function setEmbedding(
  queryable: Queryable,
  spaceId: number,
  entityId: string,
  { model, vector }: EntityEmbedding,
): Promise<void> {
  await queryable.query(sql`
    update entity set context_embedding = ${[...vector]}::real[], embedding_model = ${model}
    where entity_id = ${entityId}::uuid and space_id = ${spaceId}`);
}
