// Writes entities, their names, and additions to existing ones, in one statement.
import { CoreError } from '../../core/index.ts';
import type { Queryable, Transaction } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { sql } from '../../platform/postgres/sql.ts';
import { storedJson } from '../artifacts/artifact-store.ts';
import type { EntityAddition, EntityDraft, MentionPlace, ResolutionPlan } from './types.ts';

/** Notes kept per entity. */
const maxNotes = 50;

export interface EntityWrites extends Pick<ResolutionPlan, 'drafts' | 'additions'> {
  /** The artifact that introduced the names; null: a person did. */
  readonly artifactUid: string | null;
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

/** In the caller's transaction, after `lockEntities`. */
export async function writeEntities(
  transaction: Transaction,
  spaceId: number,
  writes: EntityWrites,
  at: Date,
): Promise<void> {
  if (writes.drafts.length + writes.additions.length === 0) return;
  await transaction.query(sql`select knowledge_put_entities(${writtenEntities(spaceId, writes, at)})`);
  for (const { entityId, embedding } of writes.drafts)
    if (embedding) await setEmbedding(transaction, spaceId, entityId, embedding.model, embedding.vector);
}

/**
 * In its own transaction and one round trip. Returns false and writes nothing if something changed since the lookup:
 * the revision is gone or no longer the latest, an entity with a draft's name is not in `seen`, or an entity to add to
 * is gone or merged.
 */
export async function writeEntitiesIfUnchanged(
  database: Queryable & { readonly schema: string },
  spaceId: number,
  { place, seen, ...plan }: Pick<ResolutionPlan, 'place' | 'drafts' | 'additions' | 'seen'>,
  at: Date,
  signal?: AbortSignal,
): Promise<boolean> {
  const writes = { ...plan, artifactUid: place.artifactUid };
  const live = [...new Set(plan.additions.map(({ entityId }) => entityId))];
  const { rows } = await database.query<{ isWritten: boolean }>(
    sql`
    select knowledge_put_entities_as_seen(${writtenEntities(spaceId, writes, at)}, ${place.revisionId}::uuid,
      ${seen}::uuid[], ${live}::uuid[], ${lockName(database.schema, spaceId)}::text) as "isWritten"`,
    { isFrequent: true, ...(signal ? { signal } : {}) },
  );
  return rows[0]?.isWritten === true;
}

/** The parameters that both functions start with. */
function writtenEntities(spaceId: number, { drafts, additions, artifactUid }: EntityWrites, at: Date): Sql {
  const names = [...drafts, ...additions].flatMap(({ entityId: id, names: own }) =>
    own.map(({ alias, normalizedAlias: normalized, keys }) => ({ id, alias, normalized, keys })),
  );
  return sql`${spaceId}::integer, ${artifactUid}::uuid, ${at}::timestamptz, ${storedJson(drafts.map(entityRow))}::jsonb,
    ${storedJson(names)}::jsonb, ${storedJson(additions.filter(isDistinctive).map(additionRow))}::jsonb,
    ${maxNotes}::integer`;
}

const entityRow = (draft: EntityDraft) => ({
  id: draft.entityId,
  type: draft.type,
  name: draft.canonicalName,
  normalized: draft.normalizedName,
  ...draft.clues,
  artifact: draft.artifactUid,
  revision: draft.revisionId,
  review: draft.reviewReason,
  is_unchecked: draft.isUnchecked,
});

const additionRow = ({ entityId, clues, betterName }: EntityAddition) => ({
  id: entityId,
  ...clues,
  name: betterName?.canonicalName ?? null,
  normalized: betterName?.normalizedName ?? null,
});

/** More than a spelling. */
const isDistinctive = ({ clues, betterName }: EntityAddition): boolean =>
  betterName !== null ||
  clues.notes.length > 0 ||
  [clues.role, clues.organization, clues.email].some((clue) => clue !== null);

export async function setEmbedding(
  transaction: Pick<Transaction, 'query'>,
  spaceId: number,
  entityId: string,
  model: string,
  vector: Float32Array,
): Promise<void> {
  await transaction.query(sql`
    update entity set context_embedding = ${[...vector]}::real[], embedding_model = ${model}
    where entity_id = ${entityId}::uuid and space_id = ${spaceId}`);
}

/** Keeps the revision the latest until the transaction ends. Fails with CONFLICT when it was removed or revised. */
export async function lockRevision(
  transaction: Transaction,
  spaceId: number,
  { revisionId }: Pick<MentionPlace, 'revisionId'>,
): Promise<void> {
  const { rows } = await transaction.query(sql`
    select from artifact_revision where revision_id = ${revisionId}::uuid and space_id = ${spaceId} and is_latest
    for share`);
  if (rows.length === 0)
    throw new CoreError('CONFLICT', 'The artifact was removed or revised while it was read.');
}
