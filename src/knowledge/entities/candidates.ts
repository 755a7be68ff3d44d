// Groups the mentions of a chunk by name, so that each name is resolved once, and finds the entities each group may
// refer to.
import { kindOf, executeWithDeadline } from '../../core/index.ts';
import type { EntityMention, EntityType } from '../reading/types.ts';
import { entityTypes } from '../reading/types.ts';
import type { Embedder } from '../vectors/embedder.ts';
import { clueKeys, nameKeys } from './blocking-keys.ts';
import type { CleanClues } from './compare-clues.ts';
import { cleanClues, identityOf, profileOf } from './compare-clues.ts';
import type { ResolutionDeps } from './deps.ts';
import { canUseModel } from './deps.ts';
import { decide, compareNames, matchCandidates, minSamePoints } from './match.ts';
import {
  isUnnamed,
  nameFullness,
  unnamedEntityName,
  normalizeName,
  plainWords,
  visibleName,
} from './normalize.ts';
import type { CandidateEntity, MentionPlace, NameRow } from './types.ts';
import type { MentionGroup } from './types.ts';

/** Co-mentions that are compared. */
const maxCoMentions = 200;

/** The most informative first, so that shorter forms can match them. */
export function groupMentions(
  mentions: readonly EntityMention[],
  place: MentionPlace,
): readonly MentionGroup[] {
  const byKey = new Map<string, { readonly first: Named; readonly members: Named[] }>();
  for (const [index, mention] of mentions.entries()) {
    const named = readMention(mention, index, place);
    const key = JSON.stringify([
      named.type,
      named.normalizedName,
      named.clues.email,
      named.clues.organization,
      named.clues.notes.find((note) => identityOf(note) !== null) ?? null,
    ]);
    const known = byKey.get(key);
    if (known) known.members.push(named);
    else byKey.set(key, { first: named, members: [named] });
  }
  const firsts = [...byKey.values()].slice(0, maxCoMentions).map(({ first }) => plainWords(first.name));
  const everybody = [...new Set(firsts)];
  return [...byKey.values()].map(({ members }) => groupOf(members, everybody)).sort(byInformativeness);
}

interface Named {
  readonly index: number;
  readonly type: EntityType;
  readonly name: string;
  readonly normalizedName: string;
  readonly surface: string;
  readonly clues: CleanClues;
}

function readMention(mention: EntityMention, index: number, place: MentionPlace): Named {
  const type = entityTypes.includes(mention.type) ? mention.type : 'other';
  const surface = visibleName(mention.surfaceForm);
  const given = isUnnamed(mention.canonicalSuggestion) ? mention.surfaceForm : mention.canonicalSuggestion;
  const name = visibleName(given);
  // Unnamed entities never match across artifacts: one per artifact.
  const normalizedName =
    name === unnamedEntityName ? `${unnamedEntityName} ${place.artifactUid}` : normalizeName(given, type);
  return { index, type, name, normalizedName, surface, clues: cleanClues(mention.contextClues, name) };
}

function groupOf(members: readonly Named[], everybody: readonly string[]): MentionGroup {
  const [first] = members as readonly [Named, ...Named[]];
  const { type, name, normalizedName } = first;
  const clues: CleanClues = {
    role: members.find((member) => member.clues.role !== null)?.clues.role ?? null,
    organization: first.clues.organization,
    email: first.clues.email,
    notes: [...new Set(members.flatMap((member) => member.clues.notes))].slice(0, 50),
  };
  const plainName = plainWords(name);
  const profile = profileOf(
    type,
    [name],
    clues,
    everybody.filter((other) => other !== plainName),
  );
  const keys = clueKeys(profile.emails, profile.notes);
  const isNamed = name !== unnamedEntityName;
  const { kept, wanted } = nameKeys(name, type);
  const own: NameRow = {
    alias: name,
    normalizedAlias: normalizedName,
    keys: isNamed ? [...kept, ...keys] : [],
  };
  return {
    members: members.map(({ index }) => index),
    type,
    name,
    normalizedName,
    names: [own, ...(isNamed ? spellings(members, own) : [])],
    clues,
    profile,
    query: {
      normalizedNames: [normalizedName],
      keys: isNamed ? [...wanted, ...keys] : [],
      emails: profile.emails,
    },
  };
}

/** Spellings in the text that are forms of the name; "she" and "the manager" are not. */
function spellings(members: readonly Named[], own: NameRow): readonly NameRow[] {
  const rows = new Map<string, NameRow>();
  for (const { surface, type, name } of members) {
    if (surface === name || surface === unnamedEntityName || compareNames(type, surface, name).points < 2)
      continue;
    const normalizedAlias = normalizeName(surface, type);
    if (normalizedAlias === own.normalizedAlias || rows.has(normalizedAlias)) continue;
    rows.set(normalizedAlias, { alias: surface, normalizedAlias, keys: nameKeys(surface, type).kept });
  }
  return [...rows.values()];
}

function byInformativeness(a: MentionGroup, b: MentionGroup): number {
  const rank = ({ clues, type, name }: MentionGroup) =>
    (clues.email === null ? 0 : 10) + (type === 'person' ? nameFullness(name) : 4);
  return rank(b) - rank(a) || b.name.length - a.name.length || (a.members[0] ?? 0) - (b.members[0] ?? 0);
}

// Evidence for the names of a chunk before anything is decided: candidates, their co-mentions, vectors.

export interface MentionEvidence {
  readonly group: MentionGroup;
  known: readonly CandidateEntity[];
  /** Set when the candidates could not be loaded: the entity may exist already. */
  candidatesProblem: unknown;
  embedding: { readonly model: string; readonly vector: Float32Array } | null;
  /** Set when a vector was requested and could not be computed. */
  embeddingProblem: unknown;
}

/** Names looked up together, within one timeout and a few queries. */
const namesPerLookup = 1_000;
/** Entities whose co-mentions are loaded at once. */
const maxWithCoMentions = 200;
const textsPerEmbedding = 128;
/** Each vector costs a scan; names beyond this number are found by their keys only. */
const maxByVector = 50;

const fatal = ['STATE_UNAVAILABLE', 'STATE_NESTED_QUERY', 'CANCELED', 'SHUTTING_DOWN', 'CONFLICT'];

/** Nothing can continue after these: the state store is down, the revision or entity is gone, or the caller aborted. */
export const isFatal = (error: unknown, signal: AbortSignal): boolean =>
  signal.aborted || fatal.includes(kindOf(error));

export async function findCandidatesFor(
  deps: ResolutionDeps,
  groups: readonly MentionGroup[],
  place: MentionPlace,
  signal: AbortSignal,
): Promise<readonly MentionEvidence[]> {
  const all = groups.map((group): MentionEvidence => ({
    group,
    known: [],
    candidatesProblem: null,
    embedding: null,
    embeddingProblem: null,
  }));
  for (let from = 0; from < all.length; from += namesPerLookup)
    await findCandidates(deps, all.slice(from, from + namesPerLookup), place, signal);
  await embed(deps, all, place, signal);
  return all;
}

/** Not decided by the candidates alone; other names of the chunk may still decide it later. */
const isOpen = (evidence: MentionEvidence): boolean =>
  decide(matchCandidates(evidence.group, evidence.known), true).kind !== 'join';

async function findCandidates(
  deps: ResolutionDeps,
  evidence: readonly MentionEvidence[],
  { spaceId, artifactUid }: MentionPlace,
  signal: AbortSignal,
): Promise<void> {
  const { entities, clock, options } = deps;
  const queries = evidence.map(({ group }) => group.query);
  const load = async (timeout: AbortSignal) => {
    const found = await entities.candidates(spaceId, queries, artifactUid, timeout);
    const known = evidence.map((_, index) => found[index] ?? []);
    return addCoMentions(deps, evidence, known, spaceId, timeout);
  };
  try {
    const known = await executeWithDeadline(load, {
      clock,
      timeoutMs: options.candidatesTimeoutMs,
      operation: 'candidates',
      signal,
    });
    for (const [index, each] of evidence.entries()) each.known = known[index] ?? [];
  } catch (error) {
    if (isFatal(error, signal)) throw error;
    for (const each of evidence) Object.assign(each, { known: [], candidatesProblem: error });
  }
}

/** Only for candidates whose score co-mentions could change. */
async function addCoMentions(
  { entities }: ResolutionDeps,
  evidence: readonly MentionEvidence[],
  known: readonly (readonly CandidateEntity[])[],
  spaceId: number,
  signal: AbortSignal,
): Promise<readonly (readonly CandidateEntity[])[]> {
  const wanted = new Set<string>();
  for (const [index, { group }] of evidence.entries())
    for (const { candidate, match } of matchCandidates(group, known[index] ?? []))
      if (match.verdict === 'uncertain' && match.points >= minSamePoints - 2)
        wanted.add(candidate.entity.entityId);
  const ids = [...wanted].slice(0, maxWithCoMentions);
  if (ids.length === 0) return known;
  const coMentions = await entities.coMentions(spaceId, ids, signal);
  return known.map((own) =>
    own.map((one) => {
      const names = coMentions.get(one.entity.entityId);
      return names === undefined ? one : withCoMentions(one, names);
    }),
  );
}

export const withCoMentions = (one: CandidateEntity, names: readonly string[]): CandidateEntity => ({
  ...one,
  coMentions: names,
  profile: { ...one.profile, coMentions: names.map(plainWords) },
});

/** The text that is embedded for an entity. */
export const embeddingText = (
  name: string,
  type: EntityType,
  clues: Pick<CleanClues, 'role' | 'organization'>,
): string => [name, type, clues.role, clues.organization].filter((part) => part !== null).join(', ');

async function embed(
  deps: ResolutionDeps,
  all: readonly MentionEvidence[],
  place: MentionPlace,
  signal: AbortSignal,
): Promise<void> {
  const current = deps.embedders.current();
  if (current.state !== 'ready') return;
  const { embedder } = current;
  const evidence = all.filter((each) => isOpen(each));
  for (let from = 0; from < evidence.length; from += textsPerEmbedding) {
    const batch = evidence.slice(from, from + textsPerEmbedding);
    const texts = batch.map(({ group }) => embeddingText(group.name, group.type, group.clues));
    try {
      const vectors = await embedInTime(deps, embedder, texts, signal);
      for (const [index, each] of batch.entries()) {
        const vector = vectors[index];
        if (!isVector(vector)) throw new TypeError('The embedder returned too few or invalid vectors.');
        each.embedding = { model: embedder.model, vector };
      }
    } catch (error) {
      if (isFatal(error, signal)) throw error;
      // The next batch would fail too: the rest goes without a vector and is repaired later.
      for (const each of evidence.slice(from))
        Object.assign(each, { embedding: null, embeddingProblem: error });
      return;
    }
  }
  await findNear(deps, evidence.slice(0, maxByVector), place, embedder.model, signal);
}

export const embedInTime = (
  { clock, options }: Pick<ResolutionDeps, 'clock' | 'options'>,
  embedder: Embedder,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly Float32Array[]> =>
  executeWithDeadline((timeout) => embedder.embed(texts, timeout), {
    clock,
    timeoutMs: options.embeddingTimeoutMs,
    operation: 'embedding',
    signal,
  });

export const isVector = (vector: Float32Array | undefined): vector is Float32Array =>
  vector !== undefined && vector.length > 0 && vector.every(Number.isFinite);

/** Vectors only suggest candidates for a model to confirm: without a model they are not searched. */
async function findNear(
  deps: ResolutionDeps,
  evidence: readonly MentionEvidence[],
  { spaceId, artifactUid }: MentionPlace,
  model: string,
  signal: AbortSignal,
): Promise<void> {
  if (!canUseModel(deps)) return;
  const wanted = evidence.flatMap((each) =>
    each.embedding && each.group.type !== 'person' ? [{ each, vector: each.embedding.vector }] : [],
  );
  const { entities, clock, options } = deps;
  const queries = wanted.map(({ each, vector }) => ({ type: each.group.type, vector }));
  try {
    const near = await executeWithDeadline(
      (timeout) => entities.nearest(spaceId, model, queries, artifactUid, timeout),
      { clock, timeoutMs: options.candidatesTimeoutMs, operation: 'candidates', signal },
    );
    for (const [index, { each }] of wanted.entries()) {
      const cosines = new Map((near[index] ?? []).map((known) => [known.entity.entityId, known]));
      const before = each.known.map((known) => {
        const again = cosines.get(known.entity.entityId);
        cosines.delete(known.entity.entityId);
        return again
          ? { ...known, cosine: again.cosine, foundBy: [...known.foundBy, 'embedding' as const] }
          : known;
      });
      each.known = [...before, ...cosines.values()];
    }
  } catch (error) {
    if (isFatal(error, signal)) throw error;
    for (const { each } of wanted) each.candidatesProblem = error;
  }
}
