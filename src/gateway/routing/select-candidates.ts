// Which models may answer a request, in the order in which they are asked.
import { CoreError } from '../../core/index.ts';
import type { CompletionRequest, Cooldowns, ProviderKeys, Model, ProviderKey, Scores } from '../ports.ts';
import { modelIdentity } from '../providers/index.ts';
import type { Need } from './needs.ts';
import { canAll, needsOf } from './needs.ts';
import { noCandidateError, unknownModel } from './no-candidate.ts';
import type { FailureBackoff } from './resting.ts';

export interface Candidate {
  readonly model: Model;
  readonly keys: readonly ProviderKey[];
  readonly baseUrl: string;
  /** The name that the caller wrote first means it, or the caller wrote none. */
  readonly isFirstChoice: boolean;
}

/** The models that each name means, in the order of the names. */
type Named = readonly (readonly Model[])[];

/** What is known of models at this moment. */
export interface RoutingSnapshot {
  readonly models: readonly Model[];
  readonly keys: ProviderKeys;
  readonly cooldowns: Pick<Cooldowns, 'of'>;
  readonly scores: Scores;
  readonly resting: Pick<FailureBackoff, 'isBackedOff'>;
}

const anyModel = 'auto';
/** Each name is looked up among all models. */
const mostNames = 32;

/**
 * Named models first, in the order given; then, if `allowFallback`, the others. Among equals: those that are free before
 * those that cool, those that rest behind the rest, then by effective score, then by name. `auto` without fallback is
 * the first of them alone. Never empty: fails with INPUT_INVALID, GATEWAY_MODEL_NOT_FOUND, GATEWAY_NOT_CONFIGURED or
 * GATEWAY_CAPABILITY_UNSUPPORTED.
 */
export function selectCandidates(
  ask: CompletionRequest,
  allowFallback: boolean,
  snapshot: RoutingSnapshot,
): readonly Candidate[] {
  const names = namesIn(ask.model);
  const wanted = names.filter((name) => name !== anyModel);
  const named = wanted.map((name) => modelsNamed(name, snapshot.models));
  const takesAny = wanted.length < names.length;
  const needs = needsOf(ask);

  if (ask.operation === 'embeddings') return sameModel(named, allowFallback, needs, snapshot);

  const scope = allowFallback || takesAny ? snapshot.models : distinct(named);
  const usable = fitting(usableOf(scope, named, needs, snapshot), ask.estimatedTokens);
  const ordered = inOrder(usable, named, snapshot);
  return wanted.length === 0 && !allowFallback ? ordered.slice(0, 1) : ordered;
}

/** A model may be meant by two names. */
const distinct = (named: Named): readonly Model[] =>
  named.length === 1 && named[0] ? named[0] : [...new Set(named.flat())];

/** Each once, in the order given. */
function namesIn(written: string): readonly string[] {
  if (!written.includes(',')) return [written.trim() || anyModel];
  const names = written.split(',', mostNames + 1);
  if (names.length > mostNames) throw invalid(`has more than ${mostNames} names; "${anyModel}" takes all`);
  const given = new Set(names.map((name) => name.trim()));
  given.delete('');
  if (given.size === 0) throw invalid(`has commas and no name; "${anyModel}" takes the best`);
  return [...given];
}

function invalid(problem: string): CoreError {
  return new CoreError('INPUT_INVALID', `The field "model" of the request ${problem}.`, {
    details: { field: 'model' },
  });
}

/** The list stays the same until a model changes. */
const indexes = new WeakMap<readonly Model[], ReadonlyMap<string, Model>>();

function byName(models: readonly Model[]): ReadonlyMap<string, Model> {
  let index = indexes.get(models);
  if (!index) indexes.set(models, (index = new Map(models.map((model) => [model.name, model]))));
  return index;
}

/** A name of ours means that model; a provider's name for it means everybody who has it. */
function modelsNamed(name: string, models: readonly Model[]): readonly Model[] {
  const exact = byName(models).get(name);
  const found = exact ? [exact] : models.filter((model) => identityOf(model) === modelIdentity(name));
  if (found.length === 0) throw unknownModel(name, models);
  return found;
}

function candidateOf(
  model: Model,
  needs: readonly Need[],
  keys: ProviderKeys,
  isFirstChoice: boolean,
): Candidate | undefined {
  if (!model.isActive || !canAll(model.capabilities, needs)) return undefined;
  const ring = keys.keysOf(model);
  const baseUrl = ring.length > 0 ? keys.baseUrlOf(model) : undefined;
  return baseUrl === undefined ? undefined : { model, keys: ring, baseUrl, isFirstChoice };
}

/**
 * A candidate as its model is defined now; undefined when it was disabled or removed since, or cannot do any more what
 * is asked. So it is when it is another model upstream: somebody may have named that one, and vectors never mix.
 */
export function renewedCandidate(
  { model: before, isFirstChoice }: Candidate,
  ask: CompletionRequest,
  { models, keys }: Pick<RoutingSnapshot, 'models' | 'keys'>,
): Candidate | undefined {
  const model = models.find(({ id }) => id === before.id);
  if (!model || identityOf(model) !== identityOf(before)) return undefined;
  return candidateOf(model, needsOf(ask), keys, isFirstChoice);
}

function usableOf(
  scope: readonly Model[],
  named: Named,
  needs: readonly Need[],
  { keys, models }: RoutingSnapshot,
): readonly Candidate[] {
  const [first] = named;
  const usable: Candidate[] = [];
  for (const model of scope) {
    const candidate = candidateOf(model, needs, keys, first?.includes(model) ?? true);
    if (candidate) usable.push(candidate);
  }
  if (usable.length === 0) throw noCandidateError(scope, needs, keys, models);
  return usable;
}

/**
 * Vectors of different models must never mix, in one request or between two: so only the very same model, and which
 * one that is depends on the names and the configuration alone, not on scores and cooldowns, which change by the hour.
 * Names of different models are refused: whichever is up would answer. `auto` is the model that most providers offer
 * (the most to fall back on), then the first by name.
 */
function sameModel(
  named: Named,
  allowFallback: boolean,
  needs: readonly Need[],
  snapshot: RoutingSnapshot,
): readonly Candidate[] {
  const identities = new Set(named.flat().map(identityOf));
  if (identities.size > 1)
    throw invalid(
      'names different models, whose vectors cannot be compared; name one, or the same one elsewhere',
    );
  const isWanted = (model: Model) => identities.has(identityOf(model));
  const scope =
    named.length === 0 ? snapshot.models : allowFallback ? snapshot.models.filter(isWanted) : distinct(named);
  const usable = usableOf(scope, named, needs, snapshot);
  const groups = Map.groupBy(usable, ({ model }) => identityOf(model));
  const ordered = inOrder(groups.get(mostOffered(groups)) ?? [], named, snapshot);
  return named.length === 0 && !allowFallback ? ordered.slice(0, 1) : ordered;
}

const identityOf = ({ upstreamModel }: Model): string => modelIdentity(upstreamModel);

function mostOffered(groups: ReadonlyMap<string, readonly Candidate[]>): string {
  const sizes = [...groups].map(([upstream, members]) => ({ upstream, size: members.length }));
  sizes.sort((a, b) => b.size - a.size || (a.upstream < b.upstream ? -1 : 1));
  return sizes[0]?.upstream ?? '';
}

/** Leaves out those that cannot read so much. The estimate is rough: when none could, the largest are asked. */
function fitting(candidates: readonly Candidate[], tokens: number): readonly Candidate[] {
  const sizeOf = ({ model }: Candidate) => model.capabilities.contextTokens ?? Number.POSITIVE_INFINITY;
  const isLarge = (candidate: Candidate) => sizeOf(candidate) >= tokens;
  if (candidates.every(isLarge)) return candidates;
  const large = candidates.filter(isLarge);
  if (large.length > 0) return large;
  const largest = Math.max(...candidates.map(sizeOf));
  return candidates.filter((candidate) => sizeOf(candidate) === largest);
}

function inOrder(
  candidates: readonly Candidate[],
  named: Named,
  snapshot: RoutingSnapshot,
): readonly Candidate[] {
  if (candidates.length < 2) return candidates;
  const turns = turnsOf(named);
  const ranked = candidates.map((candidate) => rankOf(candidate, turns, snapshot));
  ranked.sort(
    (a, b) =>
      a.turn - b.turn ||
      a.isCooling - b.isCooling ||
      a.isBackedOff - b.isBackedOff ||
      b.score - a.score ||
      (a.candidate.model.name < b.candidate.model.name ? -1 : 1),
  );
  return ranked.map(({ candidate }) => candidate);
}

/** Of the models that are named: by the first name that means them. */
function turnsOf(named: Named): ReadonlyMap<Model, number> {
  const turns = new Map<Model, number>();
  for (const [turn, models] of named.entries())
    for (const model of models) if (!turns.has(model)) turns.set(model, turn);
  return turns;
}

function rankOf(
  candidate: Candidate,
  turns: ReadonlyMap<Model, number>,
  { cooldowns, scores, resting }: RoutingSnapshot,
) {
  const { model, keys } = candidate;
  return {
    candidate,
    turn: turns.get(model) ?? mostNames,
    isCooling: Number(keys.every((key) => cooldowns.of(model.id, key.id) !== undefined)),
    isBackedOff: Number(resting.isBackedOff(model.id)),
    score: scores.of(model.id).effectiveScore,
  };
}
