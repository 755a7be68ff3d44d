// Some mentions of an entity become one of their own.
import { CoreError } from '../../core/index.ts';
import type { Transaction } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import { KnowledgeError } from '../errors.ts';
import type { EntityDraft } from '../resolution/store-ports.ts';
import { putPairs } from './postgres-pair-store.ts';
import { insertEntities, insertNames } from './postgres-write-entities.ts';

export async function splitEntity(
  transaction: Transaction,
  spaceId: number,
  entityId: string,
  mentionIds: readonly string[],
  { into, pairId, at }: { readonly into: EntityDraft; readonly pairId: string; readonly at: Date },
): Promise<void> {
  await insertEntities(transaction, spaceId, [into], at);
  await insertNames(
    transaction,
    spaceId,
    into.names.map((name) => ({ ...name, entityId: into.entityId })),
  );
  const moved = await transaction.query(sql`
    update entity_mention set entity_id = ${into.entityId}::uuid
    where mention_id = any(${mentionIds}::uuid[]) and entity_id = ${entityId}::uuid and space_id = ${spaceId}`);
  if (moved.affected !== new Set(mentionIds).size)
    throw new CoreError(
      'INPUT_INVALID',
      `Not all of these are mentions of the entity ${entityId}. "headworks entities show" lists them.`,
    );
  const { rows } = await transaction.query<{ left: number }>(
    sql`select count(*) as left from entity_mention where entity_id = ${entityId}::uuid`,
  );
  if (rows[0]?.left === 0)
    throw new KnowledgeError(
      'KNOWLEDGE_MERGE_IMPOSSIBLE',
      'These are all its mentions: nothing would be left to part from. Leave at least one.',
    );
  await moveParts(transaction, entityId, into.entityId);
  await forgetNames(transaction, entityId, into.entityId);
  // Said by a person: never asked again.
  const reason = 'Parted by hand.';
  await putPairs(
    transaction,
    spaceId,
    [
      {
        pairId,
        entityId: into.entityId,
        otherId: entityId,
        confidence: 0,
        reason,
        evidence: { reasons: [reason] },
        state: 'different',
        decidedBy: 'split',
      },
    ],
    at,
  );
}

/** Events of chunks that now mention only the new one. */
async function moveParts(transaction: Transaction, entityId: string, intoId: string): Promise<void> {
  const events = sql`
    select v.event_id from semantic_event v
    where v.chunk_id in (select chunk_id from entity_mention where entity_id = ${intoId}::uuid)
      and v.chunk_id not in (
        select chunk_id from entity_mention where entity_id = ${entityId}::uuid and chunk_id is not null)`;
  await transaction.query(sql`
    update event_actor set entity_id = ${intoId}::uuid where entity_id = ${entityId}::uuid and event_id in (${events})`);
  await transaction.query(sql`
    update event_subject set entity_id = ${intoId}::uuid where entity_id = ${entityId}::uuid and event_id in (${events})`);
}

/** Names that only the mentions which left had; the name it goes by stays. */
async function forgetNames(transaction: Transaction, entityId: string, intoId: string): Promise<void> {
  await transaction.query(sql`
    delete from entity_alias a using entity e
    where a.entity_id = ${entityId}::uuid and e.entity_id = a.entity_id and a.normalized_alias <> e.normalized_name
      and lower(a.alias) in (select lower(surface_form) from entity_mention where entity_id = ${intoId}::uuid)
      and lower(a.alias) not in (select lower(surface_form) from entity_mention where entity_id = ${entityId}::uuid)`);
}
