// Groups the mentions of a chunk by name, so that each name is resolved once, and finds the entities each group may
// refer to.
import type { Clock, IdSource, Log } from '../../core/index.ts';
import { withTimeout, kindOf } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import type { CircuitBreaker } from '../../resilience/index.ts';
import type { KnowledgeMonitor } from '../maintenance/monitor.ts';
import type { LanguageModel } from '../models/structured-output.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { EntityMention, EntityType } from '../reading/types.ts';
import { entityTypes } from '../reading/types.ts';
import type { Embedder, Embedders } from '../vectors/embedders.ts';
import { clueKeys, nameKeys } from './blocking-keys.ts';
import type { CleanClues, Profile } from './compare-clues.ts';
import {
  addressNote,
  cleanClues,
  fieldsOf,
  honorificField,
  identityOf,
  profileOf,
  titleOf,
} from './compare-clues.ts';
import { parseOrganizationName } from './compare-names.ts';
import type { EntityStore } from './entity-store.ts';
import { compareNames, decide, matchCandidates, minSamePoints } from './match.ts';
import {
  isUnnamed,
  nameFullness,
  normalizeName,
  plainWords,
  unnamedEntityName,
  visibleName,
} from './normalize.ts';
import type { CandidateEntity, CandidateQuery, EntityEmbedding, MentionPlace, NameRow } from './types.ts';

export interface ResolutionDeps {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Log;
  readonly ledger: LedgerRecorder;
  readonly entities: EntityStore;
  readonly embedders: Embedders;
  readonly model: LanguageModel;
  readonly options: Pick<
    KnowledgeOptions,
    'candidatesTimeoutMs' | 'embeddingTimeoutMs' | 'confirmationTimeoutMs' | 'readWithModel'
  >;
  readonly monitor?: Pick<KnowledgeMonitor, 'resolved' | 'confirmed'>;
  /** Shared with reading, so that a model that is down is not tried for every name. */
  readonly breaker: Pick<CircuitBreaker, 'execute'>;
}

/** Whether uncertain names can be confirmed. Without a model, unconfirmed names are not a degradation. */
export const canUseModel = ({ model, options }: Pick<ResolutionDeps, 'model' | 'options'>): boolean =>
  options.readWithModel && model.isConfigured();

const fatal = ['STATE_UNAVAILABLE', 'STATE_NESTED_QUERY', 'CANCELED', 'SHUTTING_DOWN', 'CONFLICT'];

/** Nothing can continue after these: the state store is down, the revision or entity is gone, or the caller aborted. */
export const isFatal = (error: unknown, signal: AbortSignal): boolean =>
  signal.aborted || fatal.includes(kindOf(error));

/** Mentions of a chunk with one name, and what was found for it. */
export interface MentionGroup {
  /** Indexes into the list of mentions. */
  readonly members: readonly number[];
  readonly type: EntityType;
  /** As it is displayed. */
  readonly name: string;
  readonly normalizedName: string;
  /** A part of the names of several people of the document. */
  readonly isAmbiguous: boolean;
  /** The name with its spellings; the first is `name`. */
  readonly names: readonly NameRow[];
  readonly clues: CleanClues;
  readonly profile: Profile;
  readonly query: CandidateQuery;
  candidates: readonly CandidateEntity[];
  /** Set when the candidates could not be loaded: the entity may exist already. */
  candidatesProblem: unknown;
  embedding: EntityEmbedding | null;
  /** Set when a vector was requested and could not be computed. */
  embeddingProblem: unknown;
}

/** Co-mentions that are compared. */
const maxCoMentions = 200;

/** The most informative first, so that shorter forms can match them. */
export function groupMentions(
  mentions: readonly EntityMention[],
  place: MentionPlace,
): readonly MentionGroup[] {
  const named = mentions.map((mention, index) => readMention(mention, index, place));
  const byName = [...Map.groupBy(named, identityKey).values()];
  const firsts = byName.slice(0, maxCoMentions).flatMap(([first]) => (first ? plainWords(first.name) : []));
  const allNames = [...new Set(firsts)];
  return byName.map((members) => groupOf(members, allNames)).sort(byInformativeness);
}

interface Named {
  readonly index: number;
  readonly type: EntityType;
  readonly name: string;
  readonly normalizedName: string;
  readonly surface: string;
  readonly isAmbiguous: boolean;
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
  const clues = cleanClues(mention.contextClues, name, surface);
  return { index, type, name, normalizedName, surface, isAmbiguous: mention.isAmbiguous === true, clues };
}

const identityKey = ({ type, normalizedName, isAmbiguous, clues }: Named): string =>
  JSON.stringify([
    type,
    normalizedName,
    isAmbiguous,
    clues.email,
    clues.organization,
    clues.notes.find((note) => identityOf(note) !== null) ?? null,
    fieldsOf(clues.notes).get(honorificField) ?? null,
  ]);

function groupOf(members: readonly Named[], allNames: readonly string[]): MentionGroup {
  const [first] = members as readonly [Named, ...Named[]];
  const { type, name, normalizedName, isAmbiguous } = first;
  const notes = [...new Set(members.flatMap((member) => member.clues.notes))].slice(0, 50);
  const isBare =
    first.clues.organization === null &&
    first.clues.email === null &&
    notes.every((note) => titleOf(note) !== null);
  const clues: CleanClues = {
    role: members.find((member) => member.clues.role !== null)?.clues.role ?? null,
    organization: first.clues.organization,
    email: first.clues.email,
    notes: isBare ? notes.map((note) => addressNote(titleOf(note) ?? '')) : notes,
  };
  const plainName = plainWords(name);
  const coMentions = allNames.filter((other) => other !== plainName);
  const profile = profileOf(type, [name], clues, coMentions);
  const keys = clueKeys(profile.emails, profile.notes);
  const isNamed = name !== unnamedEntityName;
  const { stored, lookup } = nameKeys(name, type);
  const own = { alias: name, normalizedAlias: normalizedName, keys: isNamed ? [...stored, ...keys] : [] };
  return {
    members: members.map(({ index }) => index),
    type,
    name,
    normalizedName,
    isAmbiguous,
    names: [own, ...(isNamed ? spellings(members, own) : [])],
    clues,
    profile,
    query: {
      normalizedNames: [normalizedName],
      keys: isNamed ? [...lookup, ...keys] : [],
      emails: profile.emails,
    },
    candidates: [],
    candidatesProblem: null,
    embedding: null,
    embeddingProblem: null,
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
    rows.set(normalizedAlias, { alias: surface, normalizedAlias, keys: nameKeys(surface, type).stored });
  }
  return [...rows.values()];
}

const hasLegalForm = (type: EntityType, name: string): boolean =>
  type === 'organization' && parseOrganizationName(name).form !== null;

function byInformativeness(a: MentionGroup, b: MentionGroup): number {
  const rank = ({ clues, type, name }: MentionGroup) =>
    (clues.email === null ? 0 : 10) +
    (type === 'person' ? nameFullness(name) : 4) +
    // Of equal names, the one that is more than a name: it decides to whom the other belongs in this document.
    (clues.organization !== null || clues.notes.length > 0 || hasLegalForm(type, name) ? 0.5 : 0);
  return rank(b) - rank(a) || b.name.length - a.name.length || (a.members[0] ?? 0) - (b.members[0] ?? 0);
}

/** Entities whose co-mentions are loaded at once. */
const maxWithCoMentions = 200;
const textsPerEmbedding = 128;
/** Each vector costs a scan; names beyond this number are found by their keys only. */
const maxByVector = 50;

/**
 * Returns the version of the space that the search is based on; null after a timeout or failure, which is stored in the
 * groups as their problem.
 */
export async function findCandidates(
  { clock, options }: ResolutionDeps,
  entities: EntityStore,
  groups: readonly MentionGroup[],
  { spaceId, artifactUid }: MentionPlace,
  signal: AbortSignal,
): Promise<string | null> {
  const load = async (timeout: AbortSignal) => {
    const queries = groups.map(({ query }) => query);
    const { found, version } = await entities.candidates(spaceId, queries, artifactUid, timeout);
    const names = await entities.coMentions(spaceId, idsNearTheLimit(groups, found), timeout);
    const complete = found.map((own) =>
      own.map((one) => withCoMentions(one, names.get(one.entity.entityId))),
    );
    return { found: complete, version };
  };
  try {
    const { found, version } = await withTimeout(load, {
      clock,
      timeoutMs: options.candidatesTimeoutMs,
      operation: 'candidates',
      signal,
    });
    for (const [index, group] of groups.entries())
      Object.assign(group, { candidates: found[index] ?? [], candidatesProblem: null });
    return version;
  } catch (error) {
    if (isFatal(error, signal)) throw error;
    for (const group of groups) Object.assign(group, { candidates: [], candidatesProblem: error });
    return null;
  }
}

/** Candidates whose score co-mentions could change. */
function idsNearTheLimit(
  groups: readonly MentionGroup[],
  found: readonly (readonly CandidateEntity[])[],
): readonly string[] {
  const ids = new Set<string>();
  for (const [index, group] of groups.entries())
    for (const { candidate, match } of matchCandidates(group, found[index] ?? []))
      if (match.verdict === 'uncertain' && match.points >= minSamePoints - 2)
        ids.add(candidate.entity.entityId);
  return [...ids].slice(0, maxWithCoMentions);
}

/** The same object without names: comparisons of profiles are cached by identity. */
export const withCoMentions = (one: CandidateEntity, names: readonly string[] | undefined): CandidateEntity =>
  names === undefined ? one : { ...one, profile: { ...one.profile, coMentions: names.map(plainWords) } };

/** Embeds the names that their candidates do not decide. A failure is stored in the groups as their problem. */
export async function embedGroups(
  deps: ResolutionDeps,
  all: readonly MentionGroup[],
  place: MentionPlace,
  signal: AbortSignal,
): Promise<void> {
  const current = deps.embedders.current();
  if (current.state !== 'ready') return;
  const { embedder } = current;
  const groups = all.filter(
    (group) => decide(matchCandidates(group, group.candidates), true).kind !== 'join',
  );
  const left = groups.filter(({ embedding }) => embedding === null);
  while (left.length > 0) {
    const batch = left.slice(0, textsPerEmbedding);
    try {
      const texts = batch.map(({ name, type, clues }) => embeddingText(name, type, clues));
      const vectors = await embedEntities(deps, embedder, texts, signal);
      for (const [index, group] of batch.entries())
        Object.assign(group, {
          embedding: { model: embedder.model, vector: vectors[index] },
          embeddingProblem: null,
        });
      left.splice(0, batch.length);
    } catch (error) {
      if (isFatal(error, signal)) throw error;
      // The next batch would fail too: the rest gets no vector and is repaired later.
      for (const group of left) group.embeddingProblem = error;
      return;
    }
  }
  // Vectors only suggest candidates for a model to confirm, and do not distinguish names of people.
  const things = groups.slice(0, maxByVector).filter(({ type }) => type !== 'person');
  if (canUseModel(deps)) await findNearest(deps, things, place, signal);
}

/** The text that is embedded for an entity. */
export const embeddingText = (
  name: string,
  type: EntityType,
  clues: Pick<CleanClues, 'role' | 'organization'>,
): string => [name, type, clues.role, clues.organization].filter((part) => part !== null).join(', ');

/** One valid vector per text, within the timeout. */
export async function embedEntities(
  { clock, options }: Pick<ResolutionDeps, 'clock' | 'options'>,
  embedder: Embedder,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  const vectors = await withTimeout((timeout) => embedder.embed(texts, timeout), {
    clock,
    timeoutMs: options.embeddingTimeoutMs,
    operation: 'embedding',
    signal,
  });
  const isVector = (vector: Float32Array | undefined) =>
    vector !== undefined && vector.length > 0 && vector.every(Number.isFinite);
  if (!texts.every((_, index) => isVector(vectors[index])))
    throw new TypeError('The embedder returned too few or invalid vectors.');
  return vectors;
}

async function findNearest(
  { entities, clock, options }: ResolutionDeps,
  groups: readonly MentionGroup[],
  { spaceId, artifactUid }: MentionPlace,
  signal: AbortSignal,
): Promise<void> {
  const queries = groups.flatMap(({ type, embedding }) => (embedding ? [{ type, ...embedding }] : []));
  try {
    const nearest = await withTimeout((timeout) => entities.nearest(spaceId, queries, artifactUid, timeout), {
      clock,
      timeoutMs: options.candidatesTimeoutMs,
      operation: 'candidates',
      signal,
    });
    for (const [index, group] of groups.entries()) {
      const near = new Map((nearest[index] ?? []).map((one) => [one.entity.entityId, one]));
      const known = group.candidates.map((one) => ({
        ...one,
        cosine: near.get(one.entity.entityId)?.cosine ?? one.cosine,
      }));
      for (const { entity } of known) near.delete(entity.entityId);
      group.candidates = [...known, ...near.values()];
    }
  } catch (error) {
    if (isFatal(error, signal)) throw error;
    for (const group of groups) group.candidatesProblem = error;
  }
}
