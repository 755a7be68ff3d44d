// Decides the names of a chunk in order: join an entity, create one, or create one with open pairs. Entities that are
// not written yet are drafts, which later names of the chunk may join.
import { kindOfKey, nameKeys } from './blocking-keys.ts';
import type { MentionGroup, ResolutionDeps } from './candidates.ts';
import { canUseModel, isFatal } from './candidates.ts';
import type { CleanClues, Profile } from './compare-clues.ts';
import { honorificNote, isAddressNote, titleOf } from './compare-clues.ts';
import { omitsMiddle } from './compare-names.ts';
import type { Confirmation } from './confirm.ts';
import { confirmInTime, describeConfirmationFailure, questionOf } from './confirm.ts';
import type { MatchedCandidate } from './match.ts';
import {
  compareNames,
  decide,
  inconclusive,
  isNamesake,
  matchCandidates,
  matchProfiles,
  minSamePoints,
  pairsWith,
} from './match.ts';
import { nameFullness, normalizeName, unnamedEntityName, visibleName } from './normalize.ts';
import type {
  CandidateEntity,
  EntityAddition,
  EntityDraft,
  EntityResolutionResult,
  MentionPlace,
  NameRow,
  PairDraft,
  ResolutionPlan,
  ReviewReason,
} from './types.ts';

/** Grows as further names of the chunk join it. */
interface OpenDraft extends EntityDraft {
  entity: EntityDraft['entity'];
  names: readonly NameRow[];
  clues: CleanClues;
  profile: Profile;
  namesakes: EntityDraft['namesakes'];
  readonly isInArtifact: true;
  readonly cosine: null;
}

type Target = CandidateEntity | OpenDraft;

const isDraft = (target: Target): target is OpenDraft => 'clues' in target;

/** A degradation of an entity created for this chunk. */
export interface Fallback {
  readonly reason: Exclude<ReviewReason, 'uncertain'>;
  readonly entityId: string;
  readonly group: MentionGroup;
  readonly error: unknown;
}

/** What all names of a chunk share, also when some are decided again. */
export interface ChunkContext {
  readonly place: MentionPlace;
  readonly caller: string;
  readonly signal: AbortSignal;
  /** Entities that names of this chunk were resolved to. */
  readonly inChunk: Set<string>;
  /** Confirmations by prompt: the same prompt is not sent twice. */
  readonly confirmations: Map<string, Confirmation>;
  confirmationCount: number;
}

/** Confirmations per chunk; pairs beyond them stay open and can be confirmed later. */
const maxConfirmations = 25;
/** Drafts compared with one name; only adversarial input has more under one key. */
const maxComparedDrafts = 20;

export class MentionDecisions {
  readonly results = new Map<MentionGroup, EntityResolutionResult>();
  readonly fallbacks: Fallback[] = [];
  readonly #deps: ResolutionDeps;
  readonly #chunk: ChunkContext;
  readonly #mayCallModel: boolean;
  readonly #inChunk: Set<string>;
  readonly #drafts: OpenDraft[] = [];
  /** Drafts, and stored entities that names of the chunk joined. */
  readonly #targetsByKey = new Map<string, Target[]>();
  readonly #additions = new Map<string, EntityAddition>();
  /** Stored entities as they are after the additions. */
  readonly #extended = new Map<string, CandidateEntity>();
  readonly #unsettled = new Set<string>();
  readonly #pairs: PairDraft[] = [];

  constructor(deps: ResolutionDeps, chunk: ChunkContext, mayCallModel = true) {
    this.#deps = deps;
    this.#chunk = chunk;
    this.#mayCallModel = mayCallModel;
    this.#inChunk = new Set(chunk.inChunk);
  }

  get plan(): ResolutionPlan {
    return {
      place: this.#chunk.place,
      drafts: this.#drafts,
      additions: [...this.#additions.values()],
      unsettled: [...this.#unsettled],
      pairs: this.#pairs,
      search: null,
    };
  }

  async decide(group: MentionGroup): Promise<void> {
    const candidates = new Map<string, Target>();
    for (const one of [...group.candidates, ...this.#targetsFor(group)]) {
      const { entityId } = one.entity;
      candidates.set(entityId, this.#extended.get(entityId) ?? one);
    }
    const matched = matchCandidates<Target>(group, [...candidates.values()], this.#inChunk);
    const choice = decide(matched, canUseModel(this.#deps));
    if (choice.kind === 'join') this.#join(group, choice.chosen, choice.others);
    else if (group.candidatesProblem !== null)
      this.#create(group, 'candidates-unknown', group.candidatesProblem);
    else if (choice.kind === 'create') this.#create(group, null);
    else await this.#confirm(group, choice.close, choice.rest);
    this.#markNamesakes(group, matched);
  }

  /** Mentions of them by the name only are separated after the document. Not again for what is settled and unchanged. */
  #markNamesakes(group: MentionGroup, matched: readonly MatchedCandidate<Target>[]): void {
    const entityId = this.results.get(group)?.entityId;
    const isOwn = (one: Target) => one.entity.entityId === entityId;
    const draft = this.#drafts.find(isOwn);
    const rivals = matched.flatMap(({ candidate, match }) => (isNamesake(match) ? [candidate] : []));
    if (draft && matched.some(({ candidate }) => candidate.namesakes !== null)) draft.namesakes = 'unsettled';
    if (rivals.length === 0) return;
    const own = draft ?? matched.find(({ candidate }) => isOwn(candidate))?.candidate;
    const isChanged = draft !== undefined || this.#additions.has(entityId ?? '');
    for (const one of own ? [own, ...rivals] : rivals)
      if (isDraft(one)) one.namesakes = 'unsettled';
      else if (isChanged || one.namesakes === null) this.#unsettled.add(one.entity.entityId);
  }

  /** Creates the entity with its name only, which every store accepts. */
  createWithNameOnly(group: MentionGroup, error: unknown): void {
    const [name] = group.names;
    const clues = { role: null, organization: null, email: null, notes: [] };
    const names = name ? [{ ...name, keys: [] }] : [];
    this.#create({ ...group, names, clues, embedding: null }, 'resolution-failed', error);
  }

  /**
   * Drafts that the name may refer to, and stored entities that others in the chunk joined: of many with the given name, the
   * search may not have found the one that the document names.
   */
  #targetsFor({ query: { keys, normalizedNames } }: MentionGroup): readonly Target[] {
    const found = new Set<Target>();
    // Identities first: a draft with the same source id is compared however many share the name.
    const surest = keys.filter((key) => kindOfKey(key) === 'identity');
    for (const key of [...surest, ...normalizedNames.map((name) => `n:${name}`), ...keys])
      for (const target of this.#targetsByKey.get(key) ?? [])
        if (found.size < maxComparedDrafts) found.add(target);
    return [...found];
  }

  #join(
    whole: MentionGroup,
    chosen: MatchedCandidate<Target>,
    others: readonly MatchedCandidate<Target>[],
    confirmation: Confirmation | null = null,
  ): void {
    const { candidate: target, isInArtifact } = chosen;
    const group = isInArtifact ? withoutShortened(whole, target.profile) : whole;
    const { entityId, normalizedName } = target.entity;
    let { canonicalName } = target.entity;
    this.#pairs.push(...this.#newPairs(group, chosen, others));
    if (isDraft(target)) {
      this.#extend(target, group);
      ({ canonicalName } = target.entity);
    } else {
      this.#inChunk.add(entityId);
      this.#index(target, group.names);
      const addition = additionFor(group, target, confirmation?.canonicalName ?? '');
      if (addition) this.#add(addition, target, group);
      canonicalName = addition?.betterName?.canonicalName ?? canonicalName;
    }
    this.results.set(whole, {
      entityId,
      isNew: false,
      mergedFrom: normalizedName === group.normalizedName ? null : entityId,
      uncertainMatch: null,
      canonicalName,
      // What a model has confirmed is more than a name.
      byName: confirmation === null ? byNameOf(whole) : null,
    });
  }

  /**
   * Pairs of its entity with the others that the name may refer to, if the name, or being in one document, makes them
   * similar. Pairs that do not depend on these exist already.
   */
  #newPairs(
    group: MentionGroup,
    { candidate: { entity, profile }, isInArtifact: wasInArtifact }: MatchedCandidate<Target>,
    others: readonly MatchedCandidate<Target>[],
  ): readonly PairDraft[] {
    const joined = joinProfiles(profile, group.profile, false);
    const close = others.flatMap(({ candidate, ...matched }) => {
      const { isInArtifact } = matched;
      const { cosine } = candidate;
      const before = matchProfiles(profile, candidate.profile, {
        isInArtifact: isInArtifact && wasInArtifact,
        cosine,
      });
      const match = matchProfiles(joined, candidate.profile, { isInArtifact, cosine });
      const isNew = before.verdict === 'different' && match.verdict !== 'different';
      return isNew ? [{ ...matched, candidate, match }] : [];
    });
    return pairsWith(entity.entityId, close, inconclusive, this.#deps.ids);
  }

  #create(
    group: MentionGroup,
    reason: ReviewReason | null,
    error: unknown = null,
    uncertainMatch: string | null = null,
  ): string {
    const { name: canonicalName, normalizedName, type, names, clues, profile, embedding } = group;
    const entityId = this.#deps.ids.uuid();
    const isWithoutVector = group.embeddingProblem !== null;
    const unnamed = canonicalName === unnamedEntityName ? 'uncertain' : null;
    const reviewReason = reason ?? (isWithoutVector ? 'embedding-missing' : unnamed);
    const entity = { entityId, type, canonicalName, normalizedName };
    const draft = { entity, names, clues, profile, embedding, reviewReason, namesakes: null };
    this.#drafts.push(this.#index({ ...draft, isInArtifact: true, cosine: null }, names));
    const byName = byNameOf(group);
    this.results.set(group, {
      entityId,
      isNew: true,
      mergedFrom: null,
      uncertainMatch,
      canonicalName,
      byName,
    });
    if (reason !== null && reason !== 'uncertain') this.fallbacks.push({ reason, entityId, group, error });
    if (isWithoutVector)
      this.fallbacks.push({ reason: 'embedding-missing', entityId, group, error: group.embeddingProblem });
    return entityId;
  }

  /** Later names of the chunk are compared with it: two that contradict each other do not both join an entity. */
  #add(addition: EntityAddition, target: CandidateEntity, group: MentionGroup): void {
    const { entityId, betterName } = addition;
    const known = this.#additions.get(entityId);
    this.#additions.set(entityId, {
      entityId,
      names: [...(known?.names ?? []), ...addition.names],
      clues: known ? joinClues(known.clues, addition.clues) : addition.clues,
      betterName: betterName ?? known?.betterName ?? null,
    });
    const { contextClues, ...entity } = target.entity;
    const { notes, ...clues } = joinClues({ ...entity, notes: contextClues }, group.clues);
    this.#extended.set(entityId, {
      ...target,
      entity: { ...target.entity, ...clues, ...betterName, contextClues: notes },
      profile: joinProfiles(target.profile, group.profile, betterName !== null),
    });
  }

  /** Adds the name and clues of a mention that matched the draft. */
  #extend(draft: OpenDraft, group: MentionGroup): void {
    const known = new Set(draft.names.map(({ normalizedAlias }) => normalizedAlias));
    const added = group.names.filter(({ normalizedAlias }) => !known.has(normalizedAlias));
    const isBetter = isBetterName(group, draft.entity.canonicalName);
    draft.names = [...draft.names, ...added];
    draft.clues = joinClues(draft.clues, group.clues);
    if (isBetter)
      draft.entity = { ...draft.entity, canonicalName: group.name, normalizedName: group.normalizedName };
    draft.profile = joinProfiles(draft.profile, group.profile, isBetter);
    this.#index(draft, added);
  }

  #index<T extends Target>(target: T, names: readonly NameRow[]): T {
    for (const { normalizedAlias, keys } of names)
      for (const key of [`n:${normalizedAlias}`, ...keys]) {
        const there = this.#targetsByKey.get(key);
        const isThere = there?.some(({ entity }) => entity.entityId === target.entity.entityId);
        if (!there) this.#targetsByKey.set(key, [target]);
        else if (there.length < maxComparedDrafts && isThere === false) there.push(target);
      }
    return target;
  }

  /** Creates the entity with open pairs. */
  #keepOpen(
    group: MentionGroup,
    close: readonly MatchedCandidate<Target>[],
    {
      reviewReason = 'uncertain',
      decision = inconclusive,
      error = null,
    }: { reviewReason?: ReviewReason; decision?: typeof inconclusive; error?: unknown } = {},
  ): void {
    const uncertainMatch = close[0]?.candidate.entity.entityId ?? null;
    const entityId = this.#create(group, reviewReason, error, uncertainMatch);
    this.#pairs.push(...pairsWith(entityId, close, decision, this.#deps.ids));
  }

  /** Uncertain: a model confirms one of `close`; otherwise the entity is created with open pairs. */
  async #confirm(
    group: MentionGroup,
    close: readonly MatchedCandidate<Target>[],
    rest: readonly MatchedCandidate<Target>[],
  ): Promise<void> {
    const all = [...close, ...rest];
    let confirmation: Confirmation | null;
    try {
      confirmation = close.length === 0 ? null : await this.#callModel(group, close);
    } catch (error) {
      if (isFatal(error, this.#chunk.signal)) throw error;
      const reason = describeConfirmationFailure(error);
      const decision = { ...inconclusive, reason };
      this.#keepOpen(group, all, { reviewReason: 'confirmation-failed', decision, error });
      return;
    }
    if (confirmation === null) {
      this.#keepOpen(group, all);
      return;
    }
    const { decision, reason, match } = confirmation;
    const chosen = match === null ? undefined : close[match];
    if (decision === 'same' && chosen) {
      const others = all.filter((one) => one !== chosen);
      this.#join(group, chosen, others, confirmation);
      return;
    }
    const state = decision === 'different' ? 'different' : 'open';
    const reviewReason = state === 'open' || rest.length > 0 ? 'uncertain' : null;
    const uncertainMatch = reviewReason === null ? null : (all[0]?.candidate.entity.entityId ?? null);
    const entityId = this.#create(group, reviewReason, null, uncertainMatch);
    this.#pairs.push(
      ...pairsWith(entityId, close, { reason, state, decidedBy: 'model' }, this.#deps.ids),
      ...pairsWith(entityId, rest, inconclusive, this.#deps.ids),
    );
  }

  /** Null when no model can be called. */
  async #callModel(
    group: MentionGroup,
    close: readonly MatchedCandidate<Target>[],
  ): Promise<Confirmation | null> {
    const { caller, signal, confirmations } = this.#chunk;
    const question = questionOf(group.profile, close, caller);
    const key = JSON.stringify(question);
    const known = confirmations.get(key);
    if (known) return known;
    const isOver = this.#chunk.confirmationCount >= maxConfirmations;
    if (!canUseModel(this.#deps) || isOver || !this.#mayCallModel) return null;
    const confirmation = await confirmInTime(this.#deps, question, signal, (work) =>
      this.#deps.breaker.execute(() => {
        this.#chunk.confirmationCount += 1;
        return work();
      }, signal),
    );
    confirmations.set(key, confirmation);
    return confirmation;
  }
}

/** With its form of address. Null when more is known than that and a role, which several people may have. */
const byNameOf = ({ name, profile: { organizations, emails, notes } }: MentionGroup): string | null => {
  const isBare = organizations.length + emails.length === 0 && notes.every(isAddressNote);
  if (!isBare || name === unnamedEntityName) return null;
  const [title] = honorificNote(name) === null ? notes.flatMap((note) => titleOf(note) ?? []) : [];
  return title === undefined ? name : `${title} ${name}`;
};

/**
 * Without the names that only this document uses for the entity: Robert Smith for Robert James Smith. The Robert Smith of
 * another document may be Robert Kevin.
 */
function withoutShortened(group: MentionGroup, { names: known }: Profile): MentionGroup {
  if (group.type !== 'person') return group;
  const isOwn = (alias: string) => !known.some((name) => omitsMiddle(alias, name));
  const names = group.names.filter(({ alias }) => isOwn(alias));
  return { ...group, names, profile: { ...group.profile, names: group.profile.names.filter(isOwn) } };
}

/** A full name is better than initials, a single word or an address. */
const isBetterName = ({ type, name }: Pick<MentionGroup, 'type' | 'name'>, than: string): boolean =>
  type === 'person' && nameFullness(name) > nameFullness(than);

const joinClues = (a: CleanClues, b: CleanClues): CleanClues => ({
  role: a.role ?? b.role,
  organization: a.organization ?? b.organization,
  email: a.email ?? b.email,
  notes: [...new Set([...a.notes, ...b.notes])].slice(0, 50),
});

function joinProfiles(a: Profile, b: Profile, isBetter: boolean): Profile {
  const both = (one: readonly string[], other: readonly string[]) => [...new Set([...one, ...other])];
  return {
    type: a.type,
    names: isBetter ? both(b.names, a.names) : both(a.names, b.names),
    emails: both(a.emails, b.emails),
    organizations: both(a.organizations, b.organizations),
    roles: both(a.roles, b.roles),
    notes: both(a.notes, b.notes),
    coMentions: both(a.coMentions, b.coMentions).slice(0, 200),
  };
}

/** What the mention adds to its entity: names, clues, a better canonical name. Null when it adds nothing. */
function additionFor(
  group: MentionGroup,
  { entity, profile }: CandidateEntity,
  suggestedName: string,
): EntityAddition | null {
  const names = group.names.filter(
    ({ alias, keys }) => !profile.names.includes(alias) || keys.some((key) => /^[def]:/.test(key)),
  );
  const betterName = betterNameFor(group, entity.canonicalName, suggestedName);
  const { role, organization, email, notes } = group.clues;
  const hasNewClue =
    (role !== null && entity.role === null) ||
    (organization !== null && entity.organization === null) ||
    (email !== null && entity.email === null) ||
    notes.some((note) => !entity.contextClues.includes(note));
  if (names.length === 0 && betterName === null && !hasNewClue) return null;
  const isListed = group.names.some(({ normalizedAlias }) => normalizedAlias === betterName?.normalizedName);
  // A new canonical name gets lookup keys like any other name.
  const own =
    betterName === null || isListed
      ? []
      : [
          {
            alias: betterName.canonicalName,
            normalizedAlias: betterName.normalizedName,
            keys: nameKeys(betterName.canonicalName, group.type).stored,
          },
        ];
  return { entityId: entity.entityId, names: [...names, ...own], clues: group.clues, betterName };
}

/** A name suggested by a model counts only if it is a form of a known name. */
function betterNameFor(
  group: MentionGroup,
  current: string,
  suggested: string,
): EntityAddition['betterName'] {
  const { type, name, normalizedName } = group;
  const own = isBetterName(group, current) ? { canonicalName: name, normalizedName } : null;
  const form = visibleName(suggested);
  const isForm = [current, name].some((known) => compareNames(type, form, known).points >= minSamePoints);
  if (!isForm || !isBetterName({ type, name: form }, own?.canonicalName ?? current)) return own;
  return { canonicalName: form, normalizedName: normalizeName(form, type) };
}
