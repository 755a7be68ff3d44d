// Whom a name may mean: indexed lookups for all names of a batch together, then a look at those they lead to.
import type { Queryable } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { Candidate } from '../ports.ts';
import { kindOfKey } from '../resolution/lookup-keys.ts';
import type { CandidateWish, KnownEntity } from '../resolution/store-ports.ts';
import { loadFamilies } from './postgres-entity-family.ts';

type FoundBy = Candidate['foundBy'][number];

/** Rows per key and name; a key that more share tells nobody apart. */
const mostPerKey = 20;
const mostPerWish = 30;
/** Trigrams cost about 0.15 ms each, more in large spaces; beyond this many names the keys of beginnings stand in for them. */
const mostByTrigram = 200;
const trigramThreshold = 0.45;
const longestAlike = 100;

interface Hit {
  readonly wish: number;
  readonly entityId: string;
  readonly by: FoundBy;
}

export async function findCandidates(
  database: Queryable,
  spaceId: number,
  wishes: readonly CandidateWish[],
  options: {
    readonly artifactUid: string | null;
    readonly withTrigrams: boolean;
    readonly signal: AbortSignal;
  },
): Promise<readonly (readonly KnownEntity[])[]> {
  const { signal } = options;
  const hits = await findHits(database, spaceId, wishes, options);
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
const order: readonly FoundBy[] = [
  'identity',
  'name',
  'alias',
  'email',
  'nickname',
  'initials',
  'trigram',
  'embedding',
];

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
  if (kind === 'identity' || kind === 'initials' || kind === 'nickname' || kind === 'email') return kind;
  return kind === 'part' ? 'alias' : 'trigram';
};

async function findHits(
  database: Queryable,
  spaceId: number,
  wishes: readonly CandidateWish[],
  { withTrigrams, signal }: { readonly withTrigrams: boolean; readonly signal: AbortSignal },
): Promise<readonly Hit[]> {
  const names = wantedBy(wishes, ({ normalizedNames }) => normalizedNames);
  const keys = wantedBy(wishes, (wish) => wish.keys);
  const emails = wantedBy(wishes, (wish) => wish.emails);
  const alike = wantedBy(withTrigrams ? wishes : [], ({ normalizedNames }) =>
    normalizedNames.slice(0, 1).filter((name) => name.length <= longestAlike),
  );
  const { rows } = await database.query<{ via: string; key: string; entityId: string }>(
    sql`
    select via, found_key as key, found_id as "entityId" from knowledge_find_entities(${spaceId}::integer,
      ${[...names.keys()]}::text[], ${[...emails.keys()]}::text[], ${[...keys.keys()]}::text[], ${mostPerKey}::integer,
      ${[...alike.keys()]}::text[], ${mostByTrigram}::integer, ${trigramThreshold}::real)`,
    { signal, isFrequent: true },
  );
  const wantedOf: Readonly<Record<string, ReadonlyMap<string, readonly number[]>>> = {
    name: names,
    alias: names,
    email: emails,
    key: keys,
    trigram: alike,
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
