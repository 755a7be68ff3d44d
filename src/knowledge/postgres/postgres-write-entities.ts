// Entities as resolution writes them: a statement for each table, whatever their number.
import type { Transaction } from '../../platform/postgres/ports.ts';
import { json, sql } from '../../platform/postgres/sql.ts';
import type { EntityAddition, EntityDraft, NameRow } from '../resolution/store-ports.ts';

/** Notes that are kept of one entity. */
const mostNotes = 50;

/**
 * Until the transaction ends. A table that grew since it was last analyzed looks to the planner as if each of thousands
 * of lookups were best done by reading it whole: minutes instead of a second for a chunk of 10,000 names.
 */
export async function preferIndexes(transaction: Transaction): Promise<void> {
  await transaction.query(sql`select set_config('enable_seqscan', 'off', true)`);
}

/** One writer of entities per space at a time, until the transaction ends; other spaces and readers go on. */
export async function lockEntities(transaction: Transaction, schema: string, spaceId: number): Promise<void> {
  await preferIndexes(transaction);
  await transaction.query(
    sql`select pg_advisory_xact_lock(hashtextextended(${`${schema}:knowledge-entities:${spaceId}`}, 0))`,
  );
}

export async function insertEntities(
  transaction: Transaction,
  spaceId: number,
  drafts: readonly EntityDraft[],
  at: Date,
): Promise<void> {
  if (drafts.length === 0) return;
  const column = <T>(read: (draft: EntityDraft) => T) => drafts.map(read);
  await transaction.query(sql`
    insert into entity (entity_id, space_id, entity_type, canonical_name, normalized_name, role, organization, email,
      context_clues, first_artifact_uid, first_revision_id, needs_review, review_reason, created_at, updated_at)
    select entity_id, ${spaceId}::integer, entity_type, canonical_name, normalized_name, role, organization, email,
      context_clues, first_artifact_uid, first_revision_id, review_reason is not null, review_reason,
      ${at}::timestamptz, ${at}::timestamptz
    from unnest(${column(({ entityId }) => entityId)}::uuid[], ${column(({ type }) => type)}::text[],
      ${column(({ canonicalName }) => canonicalName)}::text[], ${column(({ normalizedName }) => normalizedName)}::text[],
      ${column(({ clues }) => clues.role)}::text[], ${column(({ clues }) => clues.organization)}::text[],
      ${column(({ clues }) => clues.email)}::text[], ${column(({ clues }) => json(clues.notes))}::jsonb[],
      ${column(({ artifactUid }) => artifactUid)}::uuid[], ${column(({ revisionId }) => revisionId)}::uuid[],
      ${column(({ reviewReason }) => reviewReason)}::text[])
      as t (entity_id, entity_type, canonical_name, normalized_name, role, organization, email, context_clues,
        first_artifact_uid, first_revision_id, review_reason)`);
  for (const { entityId, embedding } of drafts)
    if (embedding) await setEmbedding(transaction, spaceId, entityId, embedding.model, embedding.vector);
}

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

export async function insertNames(
  transaction: Transaction,
  spaceId: number,
  names: readonly (NameRow & { readonly entityId: string })[],
): Promise<void> {
  if (names.length === 0) return;
  await transaction.query(sql`
    insert into entity_alias (entity_id, space_id, alias, normalized_alias)
    select entity_id, ${spaceId}::integer, alias, normalized_alias
    from unnest(${names.map(({ entityId }) => entityId)}::uuid[], ${names.map(({ alias }) => alias)}::text[],
      ${names.map(({ normalizedAlias }) => normalizedAlias)}::text[]) as t (entity_id, alias, normalized_alias)
    on conflict do nothing`);
  const keys = names.flatMap(({ entityId, normalizedAlias, keys: own }) =>
    own.map((key) => ({ entityId, normalizedAlias, key })),
  );
  await transaction.query(sql`
    insert into entity_key (space_id, key, entity_id, normalized_alias)
    select ${spaceId}::integer, key, entity_id, normalized_alias
    from unnest(${keys.map(({ key }) => key)}::text[], ${keys.map(({ entityId }) => entityId)}::uuid[],
      ${keys.map(({ normalizedAlias }) => normalizedAlias)}::text[]) as t (key, entity_id, normalized_alias)
    on conflict do nothing`);
}

/** Fills in what was not known yet, gives the better name, adds notes. */
export async function addToEntities(
  transaction: Transaction,
  spaceId: number,
  additions: readonly EntityAddition[],
  at: Date,
): Promise<void> {
  const telling = additions.filter(
    ({ clues, betterName }) =>
      betterName !== null ||
      clues.notes.length > 0 ||
      [clues.role, clues.organization, clues.email].some((clue) => clue !== null),
  );
  if (telling.length === 0) return;
  const column = <T>(read: (addition: EntityAddition) => T) => telling.map(read);
  await transaction.query(sql`
    update entity e set
      role = coalesce(e.role, t.role), organization = coalesce(e.organization, t.organization),
      email = coalesce(e.email, t.email),
      canonical_name = coalesce(t.canonical_name, e.canonical_name),
      normalized_name = coalesce(t.normalized_name, e.normalized_name),
      context_clues = case when jsonb_array_length(e.context_clues) >= ${mostNotes} then e.context_clues
        else e.context_clues || coalesce((select jsonb_agg(note) from jsonb_array_elements(t.notes) note
          where not e.context_clues @> jsonb_build_array(note)), '[]') end,
      updated_at = ${at}
    from unnest(${column(({ entityId }) => entityId)}::uuid[], ${column(({ clues }) => clues.role)}::text[],
      ${column(({ clues }) => clues.organization)}::text[], ${column(({ clues }) => clues.email)}::text[],
      ${column(({ clues }) => json(clues.notes))}::jsonb[],
      ${column(({ betterName }) => betterName?.canonicalName ?? null)}::text[],
      ${column(({ betterName }) => betterName?.normalizedName ?? null)}::text[])
      as t (entity_id, role, organization, email, notes, canonical_name, normalized_name)
    where e.entity_id = t.entity_id and e.space_id = ${spaceId}`);
}
