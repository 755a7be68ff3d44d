// What came after a merge and means the loser: when the merge is undone it goes with it.
import type { Transaction } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { EntityType, LaterMentions } from '../ports.ts';
import { compareNames, pointsForGrey } from '../resolution/match.ts';
import { normalizeName } from '../resolution/normalize-name.ts';
import { longestChain } from './entity-columns.ts';
import type { MovedRows } from './postgres-merge-rows.ts';
import { moveNames, moveParts } from './postgres-part-events.ts';

interface Merge {
  readonly mergeId: string;
  readonly winnerId: string;
  readonly loserId: string;
  readonly moved: MovedRows;
}

/** Mentions that are named as unclear; there may be more. */
const mostUnclear = 100;

/**
 * While the loser is still part of the winner. Mentions, with their parts in events and the names they brought, whose
 * name is the loser's and not the winner's go to the loser. What both are called stays, and is named.
 */
export async function giveLaterMentions(
  transaction: Transaction,
  spaceId: number,
  merge: Merge,
): Promise<LaterMentions> {
  const { winnerId, loserId } = merge;
  const later = await mentionsAfter(transaction, spaceId, merge);
  if (later.length === 0) return { moved: 0, unclear: [] };
  const [winner, loser] = await namesOfBoth(transaction, merge);
  const sideOf = (name: string) => closerSide(name, winner, loser);
  const meant = later.map((mention) => ({ ...mention, side: sideOf(mention.surfaceForm) }));
  const mentionIds = meant.filter(({ side }) => side === 'loser').map(({ mentionId }) => mentionId);
  const unclear = meant.filter(({ side }) => side === 'either').slice(0, mostUnclear);
  await transaction.query(sql`
    update entity_mention set entity_id = ${loserId}::uuid where mention_id = any(${mentionIds}::uuid[])`);
  await moveParts(transaction, { fromId: winnerId, toId: loserId, mentionIds });
  const names = winner.later.filter(({ alias }) => sideOf(alias) === 'loser');
  await moveNames(
    transaction,
    { fromId: winnerId, toId: loserId },
    names.map(({ normalized }) => normalized),
  );
  return {
    moved: mentionIds.length,
    unclear: unclear.map(({ mentionId, surfaceForm }) => ({ mentionId, surfaceForm })),
  };
}

/** Ids tell the time. What other merges brought to the winner is theirs. */
async function mentionsAfter(
  transaction: Transaction,
  spaceId: number,
  { mergeId, winnerId }: Merge,
): Promise<readonly { readonly mentionId: string; readonly surfaceForm: string }[]> {
  const { rows } = await transaction.query<{ mentionId: string; surfaceForm: string }>(sql`
    select mention_id as "mentionId", surface_form as "surfaceForm" from entity_mention
    where entity_id = ${winnerId}::uuid and space_id = ${spaceId} and mention_id > ${mergeId}::uuid
      and mention_id not in (
        select moved.id::uuid from entity_merge g
          cross join lateral jsonb_array_elements_text(g.moved -> 'mentions') as moved (id)
        where g.winner_id = ${winnerId}::uuid and g.undone_at is null)
    order by mention_id`);
  return rows;
}

interface Name {
  readonly alias: string;
  readonly normalized: string;
}

interface Side {
  readonly type: EntityType;
  /** With those of what was merged into it. */
  readonly names: readonly Name[];
  /** Its own that came after the merge: they may be the other's. */
  readonly later: readonly Name[];
}

async function namesOfBoth(
  transaction: Transaction,
  { winnerId, loserId, moved }: Merge,
): Promise<readonly [winner: Side, loser: Side]> {
  const { rows } = await transaction.query<
    Name & { readonly memberId: string; readonly type: EntityType; readonly isLoser: boolean }
  >(sql`
    with recursive family as (
      select ${winnerId}::uuid as member, false as is_loser, 0 as depth
      union all
      select e.entity_id, f.is_loser or e.entity_id = ${loserId}::uuid, f.depth + 1
      from family f join entity e on e.merged_into = f.member where f.depth < ${longestChain})
    select f.member as "memberId", e.entity_type as type, f.is_loser as "isLoser",
      coalesce(a.alias, e.canonical_name) as alias, coalesce(a.normalized_alias, e.normalized_name) as normalized
    from family f join entity e on e.entity_id = f.member left join entity_alias a on a.entity_id = f.member`);
  const known = moved.winnerNames && new Set(moved.winnerNames);
  const isLater = ({ memberId, normalized }: (typeof rows)[number]) =>
    memberId === winnerId && known !== undefined && !known.has(normalized);
  const typeOf = (id: string) => rows.find(({ memberId }) => memberId === id)?.type ?? 'other';
  const winners = rows.filter(({ isLoser }) => !isLoser);
  return [
    {
      type: typeOf(winnerId),
      names: winners.filter((name) => !isLater(name)),
      later: winners.filter(isLater),
    },
    { type: typeOf(loserId), names: rows.filter(({ isLoser }) => isLoser), later: [] },
  ];
}

/** Whose name it is: as it is written, else by how near it comes. */
function closerSide(name: string, winner: Side, loser: Side): 'winner' | 'loser' | 'either' {
  const has = ({ type, names }: Side) => {
    const wanted = normalizeName(name, type);
    return names.some(({ normalized }) => normalized === wanted);
  };
  const [isWinners, isLosers] = [has(winner), has(loser)];
  if (isWinners !== isLosers) return isWinners ? 'winner' : 'loser';
  if (isWinners) return 'either';
  const near = ({ type, names }: Side) =>
    Math.max(pointsForGrey - 1, ...names.map(({ alias }) => compareNames(type, name, alias).points));
  const difference = near(winner) - near(loser);
  if (difference === 0) return 'either';
  return difference > 0 ? 'winner' : 'loser';
}
