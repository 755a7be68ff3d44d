// Which models may serve a request, in the order in which they are tried.
import { meetsAll, requirementsOf } from '../models/model-definition.ts';
import type { KeyLookup } from '../models/provider-keys.ts';
import type { Cooldowns, FailureBackoff } from '../state/availability.ts';
import type { ScoreLookup } from '../state/scores.ts';
import type { CompletionRequest, Model, ProviderKey, Score } from '../types.ts';
import type { NamedModels, NameSettings } from './model-names.ts';
import { identityOf, invalidModel, orderOf, requestedModels } from './model-names.ts';
import { noCandidateError, unsupportedFeatures } from './no-candidate.ts';

export interface Candidate {
  readonly model: Model;
  readonly keys: readonly ProviderKey[];
  readonly baseUrl: string;
  /** The first name in the request refers to it, or the request names none. */
  readonly isFirstChoice: boolean;
}

/** The state of all models at this moment. */
export interface RoutingSnapshot {
  readonly models: readonly Model[];
  readonly keys: KeyLookup;
  readonly cooldowns: Pick<Cooldowns, 'of' | 'trials'>;
  readonly scores: ScoreLookup;
  readonly backoff: Pick<FailureBackoff, 'isBackedOff'>;
  readonly policy: NameSettings;
  /** Of this process; without it nothing is in flight. */
  readonly load?: ModelLoad;
}

export interface ModelLoad {
  /** Calls in flight, and the number of the last call: the lower one is longer ago. */
  of(modelId: number): { readonly inFlight: number; readonly lastCall: number };
}

/* ---- selection ---- */

/**
 * Named models first, in the given order; then, with `allowFallback`, the others. Among equals, those last that are
 * cooling down or that another request tries first after a cooldown; then those that may be too small for the request;
 * then those that are backed off. The rest is by the configured order, discovered ones last, by effective score and by
 * name; the same model at several providers takes turns. `auto` without fallback is the first of them alone.
 * Never empty: fails with INPUT_INVALID, GATEWAY_MODEL_NOT_FOUND, GATEWAY_NOT_CONFIGURED or
 * GATEWAY_CAPABILITY_UNSUPPORTED.
 */
export function selectCandidates(
  request: CompletionRequest,
  allowFallback: boolean,
  snapshot: RoutingSnapshot,
): readonly Candidate[] {
  const { named, acceptsAny } = requestedModels(request.model, snapshot.models, snapshot.policy);

  if (request.operation === 'embeddings') return selectSameModel(request, named, allowFallback, snapshot);

  const scope = allowFallback || acceptsAny ? snapshot.models : distinct(named);
  const usable = usableCandidates(scope, named, request, snapshot);
  const ordered = inOrder(request, usable, named, snapshot);
  return named.length === 0 && !allowFallback ? ordered.slice(0, 1) : ordered;
}

/** Two names may refer to the same model. */
const distinct = (named: NamedModels): readonly Model[] =>
  named.length === 1 && named[0] ? named[0] : [...new Set(named.flat())];

function candidateOf(
  model: Model,
  request: CompletionRequest,
  keys: KeyLookup,
  isFirstChoice: boolean,
): Candidate | undefined {
  if (!model.isActive || !meetsAll(model, requirementsOf(request))) return undefined;
  if (unsupportedFeatures(request, model).length > 0) return undefined;
  const modelKeys = keys.keysOf(model);
  const baseUrl = modelKeys.length > 0 ? keys.baseUrlOf(model) : undefined;
  return baseUrl === undefined ? undefined : { model, keys: modelKeys, baseUrl, isFirstChoice };
}

/**
 * A candidate with the current definition of its model; undefined when that was disabled or removed, no longer meets
 * the requirements, or is another model upstream: the caller may have named it, and vectors must not mix.
 */
export function refreshedCandidate(
  { model: before, isFirstChoice }: Candidate,
  request: CompletionRequest,
  { models, keys }: Pick<RoutingSnapshot, 'models' | 'keys'>,
): Candidate | undefined {
  const model = models.find(({ id }) => id === before.id);
  if (!model || identityOf(model) !== identityOf(before)) return undefined;
  return candidateOf(model, request, keys, isFirstChoice);
}

function usableCandidates(
  scope: readonly Model[],
  named: NamedModels,
  request: CompletionRequest,
  { keys, models }: RoutingSnapshot,
): readonly Candidate[] {
  const [first] = named;
  const usable: Candidate[] = [];
  for (const model of scope) {
    const candidate = candidateOf(model, request, keys, first?.includes(model) ?? true);
    if (candidate) usable.push(candidate);
  }
  if (usable.length === 0) throw noCandidateError(scope, request, keys, models);
  return usable;
}

/**
 * For embeddings: vectors of different models must never mix, within a request or between two. So only one model is
 * used, and which one depends on the names and the configuration alone, not on scores and cooldowns. Names of different
 * models are rejected. `auto` is the model that most providers offer (the most fallbacks), then the first by name, and
 * never one that was discovered: the next list would change it.
 */
function selectSameModel(
  request: CompletionRequest,
  named: NamedModels,
  allowFallback: boolean,
  snapshot: RoutingSnapshot,
): readonly Candidate[] {
  const identities = new Set(named.flat().map(identityOf));
  if (identities.size > 1)
    throw invalidModel(
      'names different models, whose vectors cannot be compared; name one, or the same one at several providers',
    );
  const isNamed = (model: Model) => identities.has(identityOf(model));
  const scope =
    named.length === 0
      ? snapshot.models.filter(({ origin }) => origin !== 'discovered')
      : allowFallback
        ? snapshot.models.filter(isNamed)
        : distinct(named);
  const usable = usableCandidates(scope, named, request, snapshot);
  const groups = Map.groupBy(usable, ({ model }) => identityOf(model));
  const ordered = inOrder(request, groups.get(maxOffered(groups)) ?? [], named, snapshot);
  return named.length === 0 && !allowFallback ? ordered.slice(0, 1) : ordered;
}

function maxOffered(groups: ReadonlyMap<string, readonly Candidate[]>): string {
  const sizes = [...groups].map(([upstream, members]) => ({ upstream, size: members.length }));
  sizes.sort((a, b) => b.size - a.size || (a.upstream < b.upstream ? -1 : 1));
  return sizes[0]?.upstream ?? '';
}

/* ---- order ---- */

function inOrder(
  request: CompletionRequest,
  candidates: readonly Candidate[],
  named: NamedModels,
  snapshot: RoutingSnapshot,
): readonly Candidate[] {
  if (candidates.length < 2) return candidates;
  const positions = namedPositions(named);
  const ranked = candidates.map((candidate) => sortKeyOf(request, candidate, positions, snapshot));
  ranked.sort(
    (a, b) =>
      compareRank(a, b) || b.score - a.score || (a.candidate.model.name < b.candidate.model.name ? -1 : 1),
  );
  const index = leastLoaded(ranked, snapshot.load);
  if (index > 0) ranked.unshift(...ranked.splice(index, 1));
  return ranked.map(({ candidate }) => candidate);
}

type SortKey = ReturnType<typeof sortKeyOf>;

/** By everything but the score. */
const compareRank = (a: SortKey, b: SortKey): number =>
  a.position - b.position ||
  a.isCoolingDown - b.isCoolingDown ||
  a.missingTokens - b.missingTokens ||
  a.isBackedOff - b.isBackedOff ||
  a.order - b.order ||
  a.isDiscovered - b.isDiscovered;

/** Scores of the same model at two providers that differ by no more than this are equal: both are used. */
const similarScore = 0.05;

interface RankedScore {
  readonly score: number;
  readonly isUntried: boolean;
}

/** A model without requests has no evidence against it, and would never get any behind one with a good score. */
const isSimilar = (one: RankedScore, other: RankedScore): boolean =>
  one.isUntried || other.isUntried || Math.abs(one.score - other.score) <= similarScore;

const rankedScore = ({ effectiveScore, longTerm }: Score): RankedScore => ({
  score: effectiveScore,
  isUntried: longTerm.requests === 0,
});

/** The same model upstream with a similar score: they share the load. */
export function isInterchangeable(one: Model, other: Model, scores: ScoreLookup): boolean {
  const scoreOf = ({ id }: Model) => rankedScore(scores.of(id));
  return identityOf(one) === identityOf(other) && isSimilar(scoreOf(one), scoreOf(other));
}

/** The index of the first, or of what is interchangeable with it and has fewer calls in flight, or was used longer ago. */
function leastLoaded(ranked: readonly SortKey[], load: ModelLoad | undefined): number {
  const [first] = ranked;
  if (!first || !load) return 0;
  const identity = identityOf(first.candidate.model);
  let least = 0;
  let leastLoad = load.of(first.candidate.model.id);
  for (const [index, each] of ranked.entries()) {
    if (compareRank(first, each) !== 0) break;
    if (!isSimilar(first, each)) continue;
    const { model } = each.candidate;
    const own = load.of(model.id);
    const isLess = (own.inFlight - leastLoad.inFlight || own.lastCall - leastLoad.lastCall) < 0;
    if (!isLess || identityOf(model) !== identity) continue;
    least = index;
    leastLoad = own;
  }
  return least;
}

/** For named models, the position of the first name that refers to them. */
function namedPositions(named: NamedModels): ReadonlyMap<Model, number> {
  const positions = new Map<Model, number>();
  for (const [position, models] of named.entries())
    for (const model of models) if (!positions.has(model)) positions.set(model, position);
  return positions;
}

function sortKeyOf(
  request: CompletionRequest,
  candidate: Candidate,
  positions: ReadonlyMap<Model, number>,
  { cooldowns, scores, backoff, policy }: RoutingSnapshot,
) {
  const { model, keys } = candidate;
  return {
    candidate,
    position: positions.get(model) ?? Number.MAX_SAFE_INTEGER,
    isCoolingDown: Number(
      keys.every(({ id }) => cooldowns.of(model.id, id) || cooldowns.trials.isRunning(model.id, id)),
    ),
    missingTokens: missingTokens(request, model),
    isBackedOff: Number(backoff.isBackedOff(model.id)),
    order: Math.min(orderOf(model, policy), policy.modelOrder.length),
    isDiscovered: Number(isUnchosen(model)),
    ...rankedScore(scores.of(model.id)),
  };
}

/** No operator has chosen this model, and its calls may cost money: it comes after those that are built in or chosen. */
export const isUnchosen = ({ origin, isLocal }: Model): boolean => origin === 'discovered' && !isLocal;

/** By how much the request may exceed what the model takes; 0: it fits. A rough estimate, so it excludes no model. */
function missingTokens(
  { estimatedTokens, estimatedPromptTokens }: CompletionRequest,
  { capabilities: { contextTokens, maxOutputTokens } }: Model,
): number {
  const overContext = contextTokens === null ? 0 : estimatedTokens - contextTokens;
  const overOutput = maxOutputTokens === null ? 0 : estimatedTokens - estimatedPromptTokens - maxOutputTokens;
  return Math.max(0, overContext, overOutput);
}
