// Some mentions of an entity become one of their own. Merging the two again undoes it.
import { CoreError } from '../../core/index.ts';
import type { Transaction } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import { KnowledgeError } from '../errors.ts';
import type { EntityDraft } from '../resolution/store-ports.ts';
import { putPairs } from './postgres-pair-store.ts';
import { moveNames, moveParts } from './postgres-part-events.ts';
import { putEntities } from './postgres-write-entities.ts';

export async function splitEntity(
  transaction: Transaction,
  spaceId: number,
  entityId: string,
  mentionIds: readonly string[],
  { into, pairId, at }: { readonly into: EntityDraft; readonly pairId: string; readonly at: Date },
): Promise<void> {
  await putEntities(transaction, spaceId, { drafts: [into], additions: [], artifactUid: null }, at);
  const moved = await transaction.query(sql`
    update entity_mention set entity_id = ${into.entityId}::uuid
    where mention_id = any(${mentionIds}::uuid[]) and entity_id = ${entityId}::uuid and space_id = ${spaceId}`);
  if (moved.affected !== new Set(mentionIds).size)
    throw new CoreError(
      'INPUT_INVALID',
      `Not all of these are mentions of the entity ${entityId}. "headworks entities show" lists them.`,
    );
  const { rows } = await transaction.query(sql`
    select from entity_mention m join artifact_revision r using (revision_id)
    where m.entity_id = ${entityId}::uuid and r.is_latest limit 1`);
  if (rows.length === 0)
    throw new KnowledgeError(
      'KNOWLEDGE_MERGE_IMPOSSIBLE',
      'These are all its mentions: nothing would be left to part from. Leave at least one.',
    );
  const parting = { fromId: entityId, toId: into.entityId, mentionIds };
  await moveParts(transaction, parting);
  await moveNames(transaction, parting, await namesThatLeft(transaction, parting));
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

/** Names that only the mentions which left had; the name it goes by stays. */
async function namesThatLeft(
  transaction: Transaction,
  { fromId, toId }: { readonly fromId: string; readonly toId: string },
): Promise<readonly string[]> {
  const { rows } = await transaction.query<{ name: string }>(sql`
    select a.normalized_alias as name from entity_alias a join entity e using (entity_id)
    where a.entity_id = ${fromId}::uuid and a.normalized_alias <> e.normalized_name
      and lower(a.alias) in (select lower(surface_form) from entity_mention where entity_id = ${toId}::uuid)
      and lower(a.alias) not in (select lower(surface_form) from entity_mention where entity_id = ${fromId}::uuid)`);
  return rows.map(({ name }) => name);
}
