// Whom a name may mean: a few indexed lookups for all names of a batch together.
import type { Database, Queryable } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { Candidate } from '../ports.ts';
import { kindOfKey } from '../resolution/lookup-keys.ts';
import type { CandidateWish, KnownEntity } from '../resolution/store-ports.ts';
import { loadFamilies } from './postgres-entity-family.ts';
import { preferIndexes } from './postgres-write-entities.ts';

type FoundBy = Candidate['foundBy'][number];

/** Rows per key and name; a key that more share tells nobody apart. */
const mostPerKey = 20;
const mostPerWish = 30;
/** Trigrams cost about a millisecond each; beyond this many names the keys of beginnings stand in for them. */
const mostByTrigram = 200;
const trigramThreshold = 0.45;

interface Hit {
  readonly wish: number;
  readonly entityId: string;
  readonly by: FoundBy;
}

export async function findCandidates(
  database: Database,
  spaceId: number,
  wishes: readonly CandidateWish[],
  options: {
    readonly artifactUid: string | null;
    readonly withTrigrams: boolean;
    readonly signal: AbortSignal;
  },
): Promise<readonly (readonly KnownEntity[])[]> {
  return database.transaction(async (transaction) => {
    await preferIndexes(transaction);
    return findIn(transaction, spaceId, wishes, options);
  }, options);
}

async function findIn(
  database: Queryable,
  spaceId: number,
  wishes: readonly CandidateWish[],
  options: Parameters<typeof findCandidates>[3],
): Promise<readonly (readonly KnownEntity[])[]> {
  const { signal } = options;
  const hits = [...(await hitsByKeys(database, spaceId, wishes, signal))];
  if (options.withTrigrams) hits.push(...(await hitsByTrigram(database, spaceId, wishes, hits, signal)));
  const kept = boundedHits(hits, wishes.length);
  const ids = [...new Set(kept.flat().map(({ entityId }) => entityId))];
  const families = await loadFamilies(database, spaceId, ids, options.artifactUid, { signal });
  const byFound = new Map(families.flatMap((family) => family.found.map((id) => [id, family] as const)));
  return kept.map((own) => {
    const merged = new Map<string, KnownEntity>();
    for (const { entityId, by } of own) {
      const family = byFound.get(entityId);
      if (!family) continue;
      const { known } = family;
      const before = merged.get(known.entity.entityId)?.foundBy ?? [];
      const foundBy = before.includes(by) ? before : [...before, by];
      merged.set(known.entity.entityId, { ...known, foundBy, cosine: null });
    }
    return [...merged.values()];
  });
}

/** Surest kinds first, so that a bound costs the least sure. */
const order: readonly FoundBy[] = ['name', 'alias', 'email', 'nickname', 'initials', 'trigram', 'embedding'];

function boundedHits(hits: readonly Hit[], count: number): readonly (readonly Hit[])[] {
  const byWish = Array.from({ length: count }, (): Hit[] => []);
  for (const hit of hits) byWish[hit.wish]?.push(hit);
  return byWish.map((own) =>
    own.sort((a, b) => order.indexOf(a.by) - order.indexOf(b.by)).slice(0, mostPerWish),
  );
}

const foundByOf = (via: string, key: string): FoundBy => {
  if (via !== 'key') return via as FoundBy;
  const kind = kindOfKey(key);
  if (kind === 'initials' || kind === 'nickname' || kind === 'email') return kind;
  return kind === 'part' ? 'alias' : 'trigram';
};

async function hitsByKeys(
  database: Queryable,
  spaceId: number,
  wishes: readonly CandidateWish[],
  signal: AbortSignal,
): Promise<readonly Hit[]> {
  const names = wantedBy(wishes, ({ normalizedNames }) => normalizedNames);
  const keys = wantedBy(wishes, (wish) => wish.keys);
  const emails = wantedBy(wishes, (wish) => wish.emails);
  const { rows } = await database.query<{ via: string; key: string; entityId: string }>(
    sql`
    select 'name' as via, t.key, hit.entity_id as "entityId" from unnest(${[...names.keys()]}::text[]) as t (key)
      cross join lateral (select entity_id from entity where space_id = ${spaceId} and normalized_name = t.key
        and merged_into is null limit ${mostPerKey}) hit
    union all
    select 'alias', t.key, hit.entity_id from unnest(${[...names.keys()]}::text[]) as t (key)
      cross join lateral (select entity_id from entity_alias where space_id = ${spaceId}
        and normalized_alias = t.key limit ${mostPerKey}) hit
    union all
    select 'email', t.key, hit.entity_id from unnest(${[...emails.keys()]}::text[]) as t (key)
      cross join lateral (select entity_id from entity where space_id = ${spaceId} and lower(email) = t.key
        and email is not null and merged_into is null limit ${mostPerKey}) hit
    union all
    select 'key', t.key, hit.entity_id from unnest(${[...keys.keys()]}::text[]) as t (key)
      cross join lateral (select distinct entity_id from (select entity_id from entity_key
        where space_id = ${spaceId} and key = t.key collate "C" limit ${mostPerKey * 2}) few limit ${mostPerKey}) hit`,
    { signal },
  );
  const wantedOf: Readonly<Record<string, ReadonlyMap<string, readonly number[]>>> = {
    name: names,
    alias: names,
    email: emails,
    key: keys,
  };
  return rows.flatMap(({ via, key, entityId }) =>
    (wantedOf[via]?.get(key) ?? []).map((wish) => ({ wish, entityId, by: foundByOf(via, key) })),
  );
}

/** Each wanted text once, with the wishes that want it. */
function wantedBy(
  wishes: readonly CandidateWish[],
  read: (wish: CandidateWish) => readonly string[],
): ReadonlyMap<string, readonly number[]> {
  const wanted = new Map<string, number[]>();
  for (const [index, wish] of wishes.entries())
    for (const text of new Set(read(wish))) {
      const known = wanted.get(text);
      if (known) known.push(index);
      else wanted.set(text, [index]);
    }
  return wanted;
}

async function hitsByTrigram(
  database: Queryable,
  spaceId: number,
  wishes: readonly CandidateWish[],
  hits: readonly Hit[],
  signal: AbortSignal,
): Promise<readonly Hit[]> {
  const found = new Set(hits.filter(({ by }) => by === 'name').map(({ wish }) => wish));
  const open = wishes.flatMap(({ normalizedNames: [name] }, index) =>
    name === undefined || found.has(index) || name.length > 100 ? [] : [{ index, name }],
  );
  if (open.length === 0 || open.length > mostByTrigram) return [];
  const { rows } = await database.query<{ wish: number; entityId: string }>(
    sql`
    select t.wish, hit.entity_id as "entityId"
    from unnest(${open.map(({ index }) => index)}::integer[], ${open.map(({ name }) => name)}::text[]) as t (wish, name)
      cross join lateral (select entity_id from entity_alias a
        where a.normalized_alias % t.name and a.space_id = ${spaceId}
          and similarity(a.normalized_alias, t.name) >= ${trigramThreshold}
        order by similarity(a.normalized_alias, t.name) desc, entity_id limit 8) hit`,
    { signal },
  );
  return rows.map(({ wish, entityId }) => ({ wish, entityId, by: 'trigram' }));
}
