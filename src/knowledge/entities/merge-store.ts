// Merges in Postgres: what was moved is written down, and goes back exactly.
import type { IdSource } from '../../core/index.ts';
import { CoreError, isUuid } from '../../core/index.ts';
import type { Database, Transaction } from '../../platform/postgres/ports.ts';
import { json, sql } from '../../platform/postgres/sql.ts';
import { KnowledgeError } from '../errors.ts';
import type { EntityType } from '../reading/types.ts';
import { longestChain } from './candidate-queries.ts';
import { lockEntities, writeEntities } from './entity-writes.ts';
import { compareNames, minUncertainPoints } from './match.ts';
import { normalizeName } from './normalize.ts';
import { insertPairs, refreshUncertain } from './pair-store.ts';
import type { EntityDraft, EntityMerge, LaterMentions, UndoneMerge } from './types.ts';

const columns = sql`
  merge_id as "mergeId", space_id as "spaceId", winner_id as "winnerId", loser_id as "loserId", reason,
  decided_by as "decidedBy", merged_at as "mergedAt", undone_at as "undoneAt"`;

export class MergeStore {
  readonly #database: Database;
  readonly #ids: IdSource;

  constructor(database: Database, ids: IdSource) {
    this.#database = database;
    this.#ids = ids;
  }

  async get(spaceId: number, mergeId: string): Promise<EntityMerge | null> {
    if (!isUuid(mergeId)) return null;
    const { rows } = await this.#database.query<EntityMerge>(
      sql`select ${columns} from entity_merge where merge_id = ${mergeId}::uuid and space_id = ${spaceId}`,
    );
    return rows[0] ?? null;
  }

  /** Merges an entity took part in, newest first. */
  async of(spaceId: number, entityId: string): Promise<readonly EntityMerge[]> {
    if (!isUuid(entityId)) return [];
    const { rows } = await this.#database.query<EntityMerge>(sql`
      select ${columns} from entity_merge where space_id = ${spaceId}
        and (winner_id = ${entityId}::uuid or loser_id = ${entityId}::uuid) order by merge_id desc limit 200`);
    return rows;
  }

  /** Fails with NOT_FOUND or KNOWLEDGE_MERGE_IMPOSSIBLE; then nothing was changed. */
  async merge(
    spaceId: number,
    {
      winnerId,
      loserId,
      reason,
      decidedBy,
    }: {
      readonly winnerId: string;
      readonly loserId: string;
      readonly reason: string;
      readonly decidedBy: string;
    },
    at: Date,
  ): Promise<EntityMerge> {
    return this.#locked(spaceId, async (transaction) => {
      if (winnerId === loserId)
        throw new KnowledgeError('KNOWLEDGE_MERGE_IMPOSSIBLE', 'An entity cannot be merged into itself.');
      const entities = await lockedEntities(transaction, spaceId, [winnerId, loserId]);
      for (const id of [winnerId, loserId]) requireLive(id, entities.get(id));
      const moved = await moveRows(transaction, spaceId, winnerId, loserId, decidedBy, at);
      await transaction.query(sql`
        update entity set merged_into = ${winnerId}::uuid where entity_id = ${loserId}::uuid`);
      await refreshUncertain(transaction, spaceId, [winnerId]);
      const { rows } = await transaction.query<EntityMerge>(sql`
        insert into entity_merge (merge_id, space_id, winner_id, loser_id, reason, decided_by, moved, merged_at)
        values (${this.#ids.uuid()}, ${spaceId}, ${winnerId}, ${loserId}, ${reason}, ${decidedBy}, ${json(moved)}, ${at})
        returning ${columns}`);
      return first(rows);
    });
  }

  /** Fails with NOT_FOUND or KNOWLEDGE_MERGE_IMPOSSIBLE; then nothing was changed. */
  async undo(spaceId: number, mergeId: string, at: Date): Promise<UndoneMerge> {
    return this.#locked(spaceId, async (transaction) => {
      const { rows } = isUuid(mergeId)
        ? await transaction.query<EntityMerge & { moved: MovedRows }>(sql`
            select ${columns}, moved from entity_merge
            where merge_id = ${mergeId}::uuid and space_id = ${spaceId} for update`)
        : { rows: [] };
      const [merge] = rows;
      if (!merge) throw new CoreError('NOT_FOUND', `There is no merge ${mergeId}.`);
      if (merge.undoneAt !== null)
        throw new KnowledgeError('KNOWLEDGE_MERGE_IMPOSSIBLE', 'This merge has been undone already.');
      const entities = await lockedEntities(transaction, spaceId, [merge.winnerId, merge.loserId]);
      requireLive(merge.winnerId, entities.get(merge.winnerId), 'Undo that merge first.');
      const later = await splitPersonName(transaction, spaceId, { ...merge, moved: merge.moved });
      await transaction.query(
        sql`update entity set merged_into = null where entity_id = ${merge.loserId}::uuid`,
      );
      await refreshUncertain(transaction, spaceId, [merge.winnerId, merge.loserId]);
      const done = await transaction.query<EntityMerge>(sql`
        update entity_merge set undone_at = ${at} where merge_id = ${mergeId}::uuid returning ${columns}`);
      return { ...first(done.rows), later };
    });
  }

  /** These mentions of the entity go to the new one, with the events that they are nearest to and the names they brought. */
  async split(
    spaceId: number,
    entityId: string,
    mentionIds: readonly string[],
    into: EntityDraft,
    at: Date,
  ): Promise<void> {
    await this.#locked(spaceId, async (transaction) => {
      const entities = await lockedEntities(transaction, spaceId, [entityId]);
      requireLive(entityId, entities.get(entityId));
      await splitEntity(transaction, spaceId, entityId, mentionIds, { into, pairId: this.#ids.uuid(), at });
    });
  }

  #locked<T>(spaceId: number, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#database.transaction(async (transaction) => {
      await lockEntities(transaction, this.#database.schema, spaceId);
      return work(transaction);
    });
  }
}

function first(rows: readonly EntityMerge[]): EntityMerge {
  const [row] = rows;
  if (!row) throw new CoreError('INTERNAL', 'A merge was written and not returned.');
  return row;
}

/** Locked against mentions that are being written: those go on afterwards, and see what became of the entity. */
async function lockedEntities(
  transaction: Transaction,
  spaceId: number,
  ids: readonly string[],
): Promise<ReadonlyMap<string, { readonly mergedInto: string | null }>> {
  const { rows } = await transaction.query<{ id: string; mergedInto: string | null }>(sql`
    select entity_id as id, merged_into as "mergedInto" from entity
    where entity_id = any(${ids.filter(isUuid)}::uuid[]) and space_id = ${spaceId} order by entity_id for update`);
  return new Map(rows.map((row) => [row.id, row]));
}

function requireLive(
  id: string,
  entity: { readonly mergedInto: string | null } | undefined,
  remedy = 'Name that one, or undo that merge.',
): void {
  if (!entity) throw new CoreError('NOT_FOUND', `There is no entity ${id}.`);
  if (entity.mergedInto !== null)
    throw new KnowledgeError(
      'KNOWLEDGE_MERGE_IMPOSSIBLE',
      `The entity ${id} has become part of ${entity.mergedInto}. ${remedy}`,
    );
}

// What a merge moves: mentions, and the parts that both play in events. Names and clues stay with their rows.

/** `had`: what the loser had. `added`: what of it was new to the winner, and leaves it again. */
export interface MovedRows {
  readonly mentions: readonly string[];
  readonly actors: { readonly had: readonly Part[]; readonly added: readonly Part[] };
  readonly subjects: { readonly had: readonly string[]; readonly added: readonly string[] };
  /** Pairs that the merge settled, as they were. */
  readonly pairs: readonly PairBefore[];
  /** What the winner was called before, normalized: other names came later. Merges of older versions do not know. */
  readonly winnerNames?: readonly string[];
}

/** A part in an event: the event's id and the role. */
export type Part = readonly [eventId: string, role: string];

export interface PairBefore {
  readonly pairId: string;
  readonly state: string;
  readonly decidedBy: string | null;
  readonly decidedAt: string | null;
}

export async function moveRows(
  transaction: Transaction,
  spaceId: number,
  winnerId: string,
  loserId: string,
  decidedBy: string,
  at: Date,
): Promise<MovedRows> {
  const mentions = await transaction.query<{ id: string }>(sql`
    update entity_mention set entity_id = ${winnerId}::uuid
    where entity_id = ${loserId}::uuid and space_id = ${spaceId} returning mention_id as id`);
  return {
    mentions: mentions.rows.map(({ id }) => id),
    actors: await moveActors(transaction, winnerId, loserId),
    subjects: await moveSubjects(transaction, winnerId, loserId),
    pairs: await settlePairs(transaction, spaceId, winnerId, loserId, decidedBy, at),
    winnerNames: await namesOf(transaction, winnerId),
  };
}

async function namesOf(transaction: Transaction, entityId: string): Promise<readonly string[]> {
  const { rows } = await transaction.query<{ name: string }>(sql`
    select normalized_alias as name from entity_alias where entity_id = ${entityId}::uuid`);
  return rows.map(({ name }) => name);
}

async function moveActors(
  transaction: Transaction,
  winnerId: string,
  loserId: string,
): Promise<MovedRows['actors']> {
  const { rows: had } = await transaction.query<{ eventId: string; role: string }>(sql`
    select event_id as "eventId", role from event_actor where entity_id = ${loserId}::uuid`);
  const { rows: added } = await transaction.query<{ eventId: string; role: string }>(sql`
    insert into event_actor (event_id, entity_id, space_id, role)
    select event_id, ${winnerId}::uuid, space_id, role from event_actor where entity_id = ${loserId}::uuid
    on conflict do nothing returning event_id as "eventId", role`);
  await transaction.query(sql`delete from event_actor where entity_id = ${loserId}::uuid`);
  const partOf = ({ eventId, role }: { eventId: string; role: string }): Part => [eventId, role];
  return { had: had.map(partOf), added: added.map(partOf) };
}

async function moveSubjects(
  transaction: Transaction,
  winnerId: string,
  loserId: string,
): Promise<MovedRows['subjects']> {
  const { rows: had } = await transaction.query<{ id: string }>(
    sql`select event_id as id from event_subject where entity_id = ${loserId}::uuid`,
  );
  const { rows: added } = await transaction.query<{ id: string }>(sql`
    insert into event_subject (event_id, entity_id, space_id)
    select event_id, ${winnerId}::uuid, space_id from event_subject where entity_id = ${loserId}::uuid
    on conflict do nothing returning event_id as id`);
  await transaction.query(sql`delete from event_subject where entity_id = ${loserId}::uuid`);
  return { had: had.map(({ id }) => id), added: added.map(({ id }) => id) };
}

/** Pairs between the two families have their answer; what they said before is kept for undoing. */
async function settlePairs(
  transaction: Transaction,
  spaceId: number,
  winnerId: string,
  loserId: string,
  decidedBy: string,
  at: Date,
): Promise<readonly PairBefore[]> {
  const { rows } = await transaction.query<PairBefore>(sql`
    with recursive family as (
      select id as member, id as root, 0 as depth from unnest(${[winnerId, loserId]}::uuid[]) as t (id)
      union all
      select e.entity_id, f.root, f.depth + 1 from family f join entity e on e.merged_into = f.member
        where f.depth < ${longestChain}),
    between as (
      select p.* from entity_pair p join family a on a.member = p.entity_a join family b on b.member = p.entity_b
      where a.root <> b.root and p.space_id = ${spaceId} and p.state <> 'same'),
    settled as (
      update entity_pair p set state = 'same', decided_by = ${decidedBy}, decided_at = ${at}
      from between where p.pair_id = between.pair_id)
    select pair_id as "pairId", state, decided_by as "decidedBy", decided_at::text as "decidedAt" from between`);
  return rows;
}

// A merge taken back: everything returns to the loser that is still with the winner, and what came later under its name.

interface Merge {
  readonly mergeId: string;
  readonly winnerId: string;
  readonly loserId: string;
  readonly moved: MovedRows;
}

export async function splitPersonName(
  transaction: Transaction,
  spaceId: number,
  merge: Merge,
): Promise<LaterMentions> {
  const { winnerId, loserId, moved } = merge;
  await transaction.query(sql`
    update entity_mention set entity_id = ${loserId}::uuid
    where mention_id = any(${moved.mentions}::uuid[]) and entity_id = ${winnerId}::uuid and space_id = ${spaceId}`);
  await giveBackActors(transaction, merge);
  await giveBackSubjects(transaction, merge);
  await leaveToOthers(transaction, spaceId, merge);
  await restorePairs(transaction, moved);
  return giveLaterMentions(transaction, spaceId, merge);
}

const eventsOf = (parts: readonly Part[]): readonly string[] => parts.map(([eventId]) => eventId);
const rolesOf = (parts: readonly Part[]): readonly string[] => parts.map(([, role]) => role);

/** What the winner no longer has was removed or split off meanwhile. */
async function giveBackActors(transaction: Transaction, { winnerId, loserId, moved }: Merge): Promise<void> {
  const { had } = moved.actors;
  await transaction.query(sql`
    insert into event_actor (event_id, entity_id, space_id, role)
    select a.event_id, ${loserId}::uuid, a.space_id, a.role
    from unnest(${eventsOf(had)}::uuid[], ${rolesOf(had)}::text[]) as t (event_id, role)
      join event_actor a on a.event_id = t.event_id and a.role = t.role and a.entity_id = ${winnerId}::uuid
    on conflict do nothing`);
}

async function giveBackSubjects(
  transaction: Transaction,
  { winnerId, loserId, moved }: Merge,
): Promise<void> {
  await transaction.query(sql`
    insert into event_subject (event_id, entity_id, space_id)
    select event_id, ${loserId}::uuid, space_id from event_subject
    where entity_id = ${winnerId}::uuid and event_id = any(${moved.subjects.had}::uuid[])
    on conflict do nothing`);
}

const keyOf = ([eventId, role]: Part): string => `${eventId} ${role}`;

/**
 * What this merge added leaves the winner, unless another merge that still stands brought the same: then it is owed to
 * that one from now on.
 */
async function leaveToOthers(transaction: Transaction, spaceId: number, merge: Merge): Promise<void> {
  const { mergeId, winnerId, moved } = merge;
  const { rows: others } = await transaction.query<{ mergeId: string; moved: MovedRows }>(sql`
    select merge_id as "mergeId", moved from entity_merge where winner_id = ${winnerId}::uuid
      and space_id = ${spaceId} and merge_id <> ${mergeId}::uuid and undone_at is null
    order by merge_id for update`);
  let actors = moved.actors.added;
  let subjects = moved.subjects.added;
  for (const other of others) {
    const hadParts = new Set(other.moved.actors.had.map(keyOf));
    const hadEvents = new Set(other.moved.subjects.had);
    const takenParts = actors.filter((part) => hadParts.has(keyOf(part)));
    const takenEvents = subjects.filter((eventId) => hadEvents.has(eventId));
    if (takenParts.length === 0 && takenEvents.length === 0) continue;
    actors = actors.filter((part) => !hadParts.has(keyOf(part)));
    subjects = subjects.filter((eventId) => !hadEvents.has(eventId));
    const grown: MovedRows = {
      ...other.moved,
      actors: { ...other.moved.actors, added: [...other.moved.actors.added, ...takenParts] },
      subjects: { ...other.moved.subjects, added: [...other.moved.subjects.added, ...takenEvents] },
    };
    await transaction.query(
      sql`update entity_merge set moved = ${json(grown)} where merge_id = ${other.mergeId}::uuid`,
    );
  }
  await transaction.query(sql`
    delete from event_actor a using unnest(${eventsOf(actors)}::uuid[], ${rolesOf(actors)}::text[]) as t (event_id, role)
    where a.event_id = t.event_id and a.role = t.role and a.entity_id = ${winnerId}::uuid`);
  await transaction.query(sql`
    delete from event_subject where entity_id = ${winnerId}::uuid and event_id = any(${subjects}::uuid[])`);
}

async function restorePairs(transaction: Transaction, { pairs }: MovedRows): Promise<void> {
  await transaction.query(sql`
    update entity_pair p set state = t.state, decided_by = t.decided_by, decided_at = t.decided_at
    from unnest(${pairs.map(({ pairId }) => pairId)}::uuid[], ${pairs.map(({ state }) => state)}::text[],
      ${pairs.map(({ decidedBy }) => decidedBy)}::text[], ${pairs.map(({ decidedAt }) => decidedAt)}::timestamptz[])
      as t (pair_id, state, decided_by, decided_at)
    where p.pair_id = t.pair_id`);
}

// What came after a merge and means the loser: when the merge is undone it goes with it.

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
    Math.max(minUncertainPoints - 1, ...names.map(({ alias }) => compareNames(type, name, alias).points));
  const difference = near(winner) - near(loser);
  if (difference === 0) return 'either';
  return difference > 0 ? 'winner' : 'loser';
}

// Some mentions of an entity become one of their own. Merging the two again undoes it.

export async function splitEntity(
  transaction: Transaction,
  spaceId: number,
  entityId: string,
  mentionIds: readonly string[],
  { into, pairId, at }: { readonly into: EntityDraft; readonly pairId: string; readonly at: Date },
): Promise<void> {
  await writeEntities(transaction, spaceId, { drafts: [into], additions: [], artifactUid: null }, at);
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
  await insertPairs(
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

// Mentions went from one entity to another: which parts in events, and which names, go with them.

export interface Parting {
  readonly fromId: string;
  readonly toId: string;
  /** Mentions that are with `toId` now and were with `fromId`. */
  readonly mentionIds: readonly string[];
}

/**
 * A part in an event goes with the mention that stands in its quote, or nearest to it; where one that went and one that
 * stayed are as near, both take part. Without offsets it goes only if no mention of `fromId` stays in the chunk.
 */
export async function moveParts(transaction: Transaction, parting: Parting): Promise<void> {
  const { fromId, toId } = parting;
  const { rows } = await transaction.query<{ eventId: string; isShared: boolean }>(eventsThatGo(parting));
  if (rows.length === 0) return;
  const all = rows.map(({ eventId }) => eventId);
  const left = rows.filter(({ isShared }) => !isShared).map(({ eventId }) => eventId);
  await transaction.query(sql`
    insert into event_actor (event_id, entity_id, space_id, role)
    select event_id, ${toId}::uuid, space_id, role from event_actor
    where entity_id = ${fromId}::uuid and event_id = any(${all}::uuid[]) on conflict do nothing`);
  await transaction.query(sql`
    insert into event_subject (event_id, entity_id, space_id)
    select event_id, ${toId}::uuid, space_id from event_subject
    where entity_id = ${fromId}::uuid and event_id = any(${all}::uuid[]) on conflict do nothing`);
  await transaction.query(sql`
    delete from event_actor where entity_id = ${fromId}::uuid and event_id = any(${left}::uuid[])`);
  await transaction.query(sql`
    delete from event_subject where entity_id = ${fromId}::uuid and event_id = any(${left}::uuid[])`);
}

const eventsThatGo = ({ fromId, mentionIds }: Parting) => sql`
  with gone as (
    select chunk_id, start_char, end_char from entity_mention
    where mention_id = any(${mentionIds}::uuid[]) and chunk_id is not null),
  stayed as (
    select chunk_id, start_char, end_char from entity_mention
    where entity_id = ${fromId}::uuid and chunk_id in (select chunk_id from gone)),
  event as (
    select v.event_id, v.chunk_id from semantic_event v where v.chunk_id in (select chunk_id from gone)
      and (exists (select from event_actor a where a.event_id = v.event_id and a.entity_id = ${fromId}::uuid)
        or exists (select from event_subject s where s.event_id = v.event_id and s.entity_id = ${fromId}::uuid))),
  -- Characters between a mention and the nearest quote; null where offsets are not known.
  near as (
    select v.event_id,
      exists (select from stayed m where m.chunk_id = v.chunk_id) as has_stayed,
      (select min(greatest(0, q.start_char - m.end_char, m.start_char - q.end_char))
        from gone m cross join event_evidence q where m.chunk_id = v.chunk_id and q.event_id = v.event_id) as gone,
      (select min(greatest(0, q.start_char - m.end_char, m.start_char - q.end_char))
        from stayed m cross join event_evidence q where m.chunk_id = v.chunk_id and q.event_id = v.event_id) as stayed
    from event v)
  select event_id as "eventId", has_stayed and gone = stayed as "isShared" from near
  where not has_stayed or gone is not null and gone <= coalesce(stayed, gone)`;

/** These names, with what they are looked for under. One that `toId` has already is only taken from `fromId`. */
export async function moveNames(
  transaction: Transaction,
  { fromId, toId }: Pick<Parting, 'fromId' | 'toId'>,
  normalizedAliases: readonly string[],
): Promise<void> {
  if (normalizedAliases.length === 0) return;
  await transaction.query(sql`
    insert into entity_alias (entity_id, space_id, alias, normalized_alias, first_artifact_uid)
    select ${toId}::uuid, space_id, alias, normalized_alias, first_artifact_uid from entity_alias
    where entity_id = ${fromId}::uuid and normalized_alias = any(${normalizedAliases}::text[]) on conflict do nothing`);
  await transaction.query(sql`
    insert into entity_key (space_id, key, entity_id, normalized_alias)
    select space_id, key, ${toId}::uuid, normalized_alias from entity_key
    where entity_id = ${fromId}::uuid and normalized_alias = any(${normalizedAliases}::text[]) on conflict do nothing`);
  await transaction.query(sql`
    delete from entity_alias where entity_id = ${fromId}::uuid and normalized_alias = any(${normalizedAliases}::text[])`);
}
