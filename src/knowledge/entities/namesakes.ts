// Separates mentions of which only the name is known, when it fits several entities that contradict each other: each belongs
// to the one that its document names, else to an entity of its own with a pair to each. The result depends neither on the
// order of documents nor on which of the entities a mention had joined before the others were known.
import type { IdSource } from '../../core/index.ts';
import type { Queryable, Transaction } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import { deleteUnmentioned } from '../artifacts/remove-artifact.ts';
import type { EntityType } from '../reading/types.ts';
import { nameKeys } from './blocking-keys.ts';
import type { CleanClues, Profile } from './compare-clues.ts';
import { addressNote, gendersOf, honorificNote, profileOf, titleOf } from './compare-clues.ts';
import type { FoundCandidates } from './candidate-queries.ts';
import { touchEntities, writeEntities } from './entity-writes.ts';
import type { Matchable, MatchedCandidate } from './match.ts';
import { inconclusive, matchCandidates, mayBeSame, pairsWith, rivalsAmong } from './match.ts';
import { normalizeName } from './normalize.ts';
import { decidedByScore } from './merge-store.ts';
import { insertPairs, pairedWith, refreshUncertain } from './pair-store.ts';
import type { MentionMove } from './split-entity.ts';
import { copyAliases, moveParticipations } from './split-entity.ts';
import type { CandidateEntity, CandidateQuery } from './types.ts';

/** Mentions of an entity in one artifact by one name and nothing else. */
interface BareMentions {
  readonly entityId: string;
  readonly type: EntityType;
  readonly name: string;
  readonly artifactUid: string;
  readonly mentionIds: readonly string[];
}

interface NamesakeMove {
  /** Null: an entity of their own, which does not exist yet. */
  readonly toId: string | null;
  /** Of all documents in which they move alike. */
  readonly mentions: BareMentions;
  /** From one of those that contradict each other, as opposed to the entity of the name. */
  readonly isFromRival: boolean;
  /** Set when it has the name as its canonical one and another that distinguishes it: Acme is known to be Acme AG. */
  readonly ownName: string | null;
  /** What the name may refer to. */
  readonly close: readonly MatchedCandidate<CandidateEntity>[];
}

export interface NamesakeWork {
  readonly moves: readonly NamesakeMove[];
  /** Entities to mark as settled when the moves are done. */
  readonly unsettled: readonly string[];
  /** Those of them without a mention, of which no document can be about to write one. */
  readonly empty: readonly string[];
  /** There are more to settle. */
  readonly isPartial: boolean;
}

/** Entities that are settled under one lock. */
const maxUnsettled = 200;

/** One that lost all mentions is kept this long: a document that is read now may be about to mention it. */
const emptyForMs = 3_600_000;

/** Of an entity `e`. */
const isEmpty = sql`(e.merged_into is null and not exists (select from entity_mention m where m.entity_id = e.entity_id)
  and not exists (select from entity_mention m where m.resolved_id = e.entity_id))`;

/**
 * Of a mention `m`: only its name is known, and no person has decided since to whom it belongs. Ids are UUIDv7: greater means
 * written later.
 */
const isMovable = sql`m.by_name is not null and m.resolved_id = m.entity_id and not exists (
  select from entity_merge g where g.winner_id = m.entity_id and g.undone_at is null and g.decided_by <> ${decidedByScore}
    and g.merge_id > m.mention_id)`;

/** What is to be done after a document. Reads only; to be read again under the lock of the space before it is done. */
export async function findNamesakes(
  queryable: Queryable,
  search: (queries: readonly CandidateQuery[]) => Promise<FoundCandidates>,
  { spaceId, revisionId }: { readonly spaceId: number; readonly revisionId: string },
  at: Date,
  signal: AbortSignal,
): Promise<NamesakeWork> {
  const { rows } = await queryable.query<
    Omit<BareMentions, 'name'> & { name: string | null; isUnsettled: boolean; isEmpty: boolean }
  >(
    sql`
    with chosen as (
      select m.mention_id, m.entity_id, m.by_name, m.artifact_uid, e.entity_type, false as is_unsettled, false as is_empty
      from entity_mention m join entity e using (entity_id)
      where m.revision_id = ${revisionId}::uuid and e.namesakes = 'settled' and ${isMovable}
      union all
      select m.mention_id, e.entity_id, m.by_name, m.artifact_uid, e.entity_type, true, ${isEmpty}
      from (select * from entity e where space_id = ${spaceId} and namesakes = 'unsettled'
            and not (updated_at > ${new Date(at.getTime() - emptyForMs)}::timestamptz and ${isEmpty})
          order by entity_id limit ${maxUnsettled}) e
        left join entity_mention m on m.entity_id = e.entity_id and ${isMovable})
    select entity_id as "entityId", entity_type as type, by_name as name, artifact_uid as "artifactUid",
      is_unsettled as "isUnsettled", is_empty as "isEmpty", array_agg(mention_id) as "mentionIds"
    from chosen group by 1, 2, 3, 4, 5, 6 order by 3, 1, 4`,
    { signal, isFrequent: true },
  );
  const unsettled = [
    ...new Set(rows.flatMap(({ isUnsettled, entityId }) => (isUnsettled ? [entityId] : []))),
  ];
  const empty = rows.flatMap((row) => (row.isEmpty ? [row.entityId] : []));
  const bare = rows.flatMap(({ name, ...row }) => (name === null ? [] : [{ ...row, name }]));
  const searched = grouped(bare, ({ type, name }) => JSON.stringify([type, name]));
  const isPartial = unsettled.length === maxUnsettled;
  if (searched.length === 0) return { moves: [], unsettled, empty, isPartial };
  const { found } = await search(searched.map(({ first }) => queryOf(first)));
  const names = searched.map(({ first, all: mentions }, index) => {
    const close = fitting(first, found[index] ?? []);
    const same = close.filter(({ match }) => match.verdict === 'same').map(({ candidate }) => candidate);
    return { mentions, close, same, rivals: rivalsAmong(same) };
  });
  const torn = names.filter(({ rivals }) => rivals.size > 0);
  const named = await findNamed(queryable, torn, signal);
  const moves = torn.flatMap(({ mentions, close, same, rivals }) => {
    const holders = close.filter(
      ({ candidate, match, hasContext }) =>
        same.includes(candidate) && !rivals.has(candidate) && !hasContext && match.name.relation === 'same',
    );
    const holder = holders.find(({ isAddressedAlike }) => isAddressedAlike) ?? holders[0];
    const fitted = new Map(same.map((one) => [one.entity.entityId, one]));
    const isNamed = namedIn(rivals, named);
    return mentions.flatMap((one): readonly NamesakeMove[] => {
      const from = fitted.get(one.entityId);
      if (!from) return [];
      const inDocument = [...rivals].filter(({ entity }) => isNamed(entity.entityId, one.artifactUid));
      const toId = (inDocument.length === 1 ? inDocument[0] : holder?.candidate)?.entity.entityId ?? null;
      const isFromRival = rivals.has(from);
      const ownName = isFromRival ? ownNameOf(from, rivals) : null;
      return toId === one.entityId ? [] : [{ toId, isFromRival, ownName, mentions: one, close }];
    });
  });
  // Parts of a name, which only their document gives a meaning, go with the name.
  const parts = names.flatMap(({ mentions, same }) =>
    mentions.filter(({ entityId }) => !same.some(({ entity }) => entity.entityId === entityId)),
  );
  return { moves: together(moves, parts), unsettled, empty, isPartial };
}

const grouped = <T>(items: readonly T[], keyOf: (item: T) => string) =>
  [...Map.groupBy(items, keyOf).values()].flatMap((all) => {
    const [first] = all;
    return first === undefined ? [] : [{ first, all }];
  });

/** One move for each name between two entities, with the other mentions of the same documents. */
function together(moves: readonly NamesakeMove[], parts: readonly BareMentions[]): readonly NamesakeMove[] {
  const documentOf = ({ entityId, artifactUid }: BareMentions) => `${entityId} ${artifactUid}`;
  const partsOf = Map.groupBy(parts, documentOf);
  const groups = grouped(moves, ({ toId, mentions: { entityId, type, name } }) =>
    JSON.stringify([entityId, toId, type, name]),
  );
  return groups.map(({ first, all }) => {
    const mentionIds = all.flatMap(({ mentions }) => {
      const own = partsOf.get(documentOf(mentions)) ?? [];
      partsOf.delete(documentOf(mentions));
      return [mentions, ...own].flatMap((one) => one.mentionIds);
    });
    return { ...first, mentions: { ...first.mentions, mentionIds } };
  });
}

const noClues: CleanClues = { role: null, organization: null, email: null, notes: [] };

const bareClues = ({ type, name }: Pick<BareMentions, 'type' | 'name'>): CleanClues => {
  const title = type === 'person' ? titleOf(honorificNote(name) ?? '') : null;
  return title === null ? noClues : { ...noClues, notes: [addressNote(title)] };
};

const bareProfile = (bare: Pick<BareMentions, 'type' | 'name'>): Profile =>
  profileOf(bare.type, [bare.name], bareClues(bare));

const queryOf = ({ type, name }: BareMentions): CandidateQuery => ({
  normalizedNames: [normalizeName(name, type)],
  keys: nameKeys(name, type).lookup,
  emails: [],
});

/** As in a document that names none of them. */
const fitting = <T extends Matchable>(bare: Pick<BareMentions, 'type' | 'name'>, found: readonly T[]) =>
  matchCandidates(
    { profile: bareProfile(bare), name: bare.name, normalizedName: normalizeName(bare.name, bare.type) },
    found,
  ).filter(({ match }) => match.verdict !== 'different' && !match.isByVectorOnly);

interface Named {
  readonly entityId: string;
  readonly artifactUid: string;
  readonly byName: string | null;
}

/** How the documents of these mentions name the rivals. */
async function findNamed(
  queryable: Queryable,
  torn: readonly {
    readonly mentions: readonly BareMentions[];
    readonly rivals: ReadonlySet<CandidateEntity>;
  }[],
  signal: AbortSignal,
): Promise<readonly Named[]> {
  if (torn.length === 0) return [];
  const ids = new Set(torn.flatMap(({ rivals }) => [...rivals].map(({ entity }) => entity.entityId)));
  const artifacts = new Set(torn.flatMap(({ mentions }) => mentions.map(({ artifactUid }) => artifactUid)));
  const { rows } = await queryable.query<Named>(
    sql`
    select distinct entity_id as "entityId", artifact_uid as "artifactUid", by_name as "byName" from entity_mention
    where entity_id = any(${[...ids]}::uuid[]) and artifact_uid = any(${[...artifacts]}::uuid[])`,
    { signal },
  );
  return rows;
}

/** `Acme AG`, as opposed to `Acme`, which fits Acme GmbH, too. */
const isOwnName = (name: string, type: EntityType, rivals: ReadonlySet<CandidateEntity>): boolean =>
  [...rivals].some((rival) => !mayBeSame({ profile: bareProfile({ type, name }) }, rival));

const ownNameOf = (
  { entity: { canonicalName, type }, profile: { names } }: CandidateEntity,
  rivals: ReadonlySet<CandidateEntity>,
): string | null =>
  isOwnName(canonicalName, type, rivals)
    ? null
    : (names.filter((name) => isOwnName(name, type, rivals)).sort()[0] ?? null);

/** Whether a document names one of them by more than a name that fits another one, too. */
function namedIn(
  rivals: ReadonlySet<CandidateEntity>,
  named: readonly Named[],
): (entityId: string, artifactUid: string) => boolean {
  const types = new Map([...rivals].map(({ entity }) => [entity.entityId, entity.type]));
  const keys = new Set<string>();
  for (const [entityId, type] of types) {
    const own = named.filter((one) => one.entityId === entityId);
    for (const [byName, all] of Map.groupBy(own, (one) => one.byName))
      if (byName === null || isOwnName(byName, type, rivals))
        for (const { artifactUid } of all) keys.add(`${entityId} ${artifactUid}`);
  }
  return (entityId, artifactUid) => keys.has(`${entityId} ${artifactUid}`);
}

/** Runs in the caller's transaction, after `lockEntities`. Returns the entities that it changed. */
export async function moveNamesakes(
  transaction: Transaction,
  spaceId: number,
  { moves, unsettled, empty }: NamesakeWork,
  ids: IdSource,
  at: Date,
): Promise<readonly string[]> {
  const created: Matchable[] = [];
  // Mr. and Mrs. may both go to one entity that has no form of address yet: only the first does.
  const gendersGiven = new Map<string | null, ReadonlySet<string>>();
  const changed = new Set<string>();
  for (const move of moves) {
    const { entityId: fromId, mentionIds } = move.mentions;
    const own = gendersOf(bareProfile(move.mentions));
    const theirs = gendersGiven.get(move.toId) ?? own;
    const isFree = own.size === 0 || !own.isDisjointFrom(theirs);
    const toId = (isFree ? move.toId : null) ?? (await create(transaction, spaceId, move, created, ids, at));
    if (own.size > 0) gendersGiven.set(toId, own);
    await moveMentions(transaction, { fromId, toId, mentionIds }, move);
    changed.add(fromId).add(toId);
  }
  const emptied = moves.flatMap(({ mentions, isFromRival }) => (isFromRival ? [] : [mentions.entityId]));
  const left = [...new Set([...emptied, ...empty])];
  const paired = await pairedWith(transaction, spaceId, left);
  // Mentions of the others may not be written yet.
  await deleteUnmentioned(transaction, sql`e.entity_id = any(${left}::uuid[]) and e.space_id = ${spaceId}`);
  await transaction.query(sql`
    update entity e set namesakes = case when ${isEmpty} then 'unsettled' else 'settled' end,
      updated_at = case when ${isEmpty} then ${at}::timestamptz else updated_at end
    where e.entity_id = any(${[...unsettled, ...changed]}::uuid[]) and e.space_id = ${spaceId} and e.namesakes is not null`);
  for (const id of empty) changed.add(id);
  if (changed.size > 0) {
    await refreshUncertain(transaction, spaceId, [...new Set([...changed, ...paired])]);
    await touchEntities(transaction, spaceId, [...changed]);
  }
  return [...changed];
}

/** The entity of the name, with a pair to each that it may be. Other forms of the name share it. */
async function create(
  transaction: Transaction,
  spaceId: number,
  { mentions, close }: Pick<NamesakeMove, 'mentions' | 'close'>,
  created: Matchable[],
  ids: IdSource,
  at: Date,
): Promise<string> {
  const { type, name } = mentions;
  const others = fitting(mentions, created);
  const same = [...close, ...others].filter(({ match }) => match.verdict === 'same');
  const rivals = rivalsAmong(same.map(({ candidate }): Matchable => candidate));
  const known = others.find(
    ({ candidate, match }) => match.name.relation === 'same' && !rivals.has(candidate),
  )?.candidate;
  if (known) {
    const { profile } = known;
    const notes = [...new Set([...profile.notes, ...bareProfile(mentions).notes])];
    created[created.indexOf(known)] = { ...known, profile: { ...profile, notes } };
    return known.entity.entityId;
  }
  const normalizedName = normalizeName(name, type);
  const entity = { entityId: ids.uuid(), type, canonicalName: name, normalizedName };
  const names = [{ alias: name, normalizedAlias: normalizedName, keys: nameKeys(name, type).stored }];
  const draft = {
    entity,
    names,
    clues: bareClues(mentions),
    embedding: null,
    reviewReason: null,
    namesakes: 'settled',
  } as const;
  await writeEntities(
    transaction,
    spaceId,
    { drafts: [draft], additions: [], unsettled: [], place: null },
    at,
  );
  await insertPairs(
    transaction,
    spaceId,
    pairsWith(entity.entityId, [...close, ...others], inconclusive, ids),
    at,
  );
  created.push({ entity, profile: bareProfile(mentions), isInArtifact: false, cosine: null });
  return entity.entityId;
}

/** The names stay known for the other, too: how its own mentions with clues were spelled is not stored. */
async function moveMentions(
  transaction: Transaction,
  move: MentionMove,
  { ownName, mentions: { type, name } }: NamesakeMove,
): Promise<void> {
  const { fromId, toId, mentionIds } = move;
  const { rows: moved } = await transaction.query<{ name: string }>(sql`
    update entity_mention set entity_id = ${toId}::uuid, resolved_id = ${toId}::uuid
    where mention_id = any(${mentionIds}::uuid[]) and entity_id = ${fromId}::uuid returning by_name as name`);
  await moveAddress(transaction, move, new Set(moved.flatMap((one) => bareClues({ type, ...one }).notes)));
  await moveParticipations(transaction, move);
  await copyAliases(transaction, move, [normalizeName(name, type)]);
  if (ownName !== null)
    await transaction.query(sql`
      update entity set canonical_name = ${ownName}, normalized_name = ${normalizeName(ownName, type)}
      where entity_id = ${fromId}::uuid`);
}

/** Forms of address go with the mentions by which alone they are known. */
async function moveAddress(
  transaction: Transaction,
  { fromId, toId }: MentionMove,
  notes: ReadonlySet<string>,
): Promise<void> {
  for (const note of notes) {
    const title = titleOf(note) ?? '';
    await transaction.query(sql`
      update entity set context_clues = context_clues || jsonb_build_array(${note}::text)
      where entity_id = ${toId}::uuid and not context_clues @> jsonb_build_array(${note}::text)`);
    await transaction.query(sql`
      update entity set context_clues = context_clues - ${note}::text
      where entity_id = ${fromId}::uuid and not exists (
        select from entity_mention m where m.entity_id = ${fromId}::uuid and starts_with(m.by_name, ${`${title} `}::text))`);
  }
}
