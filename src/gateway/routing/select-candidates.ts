// Which models may serve a request, in the order in which they are tried.
import { CoreError } from '../../core/index.ts';
import { autoModel } from '../dialects/openai-shared.ts';
import { modelIdentity } from '../models/catalog.ts';
import type { Requirement } from '../models/model-definition.ts';
import { meetsAll, requirementsOf } from '../models/model-definition.ts';
import type { KeyLookup } from '../models/provider-keys.ts';
import type { Cooldowns, FailureBackoff } from '../state/availability.ts';
import type { ScoreLookup } from '../state/scores.ts';
import type { CompletionRequest, Model, ProviderKey } from '../types.ts';
import { modelNameNotFound, noCandidateError } from './no-candidate.ts';

export interface Candidate {
  readonly model: Model;
  readonly keys: readonly ProviderKey[];
  readonly baseUrl: string;
  /** The first name in the request refers to it, or the request names none. */
  readonly isFirstChoice: boolean;
}

/** The models that each name refers to, in the order of the names. */
type NamedModels = readonly (readonly Model[])[];

/** The state of all models at this moment. */
export interface RoutingSnapshot {
  readonly models: readonly Model[];
  readonly keys: KeyLookup;
  readonly cooldowns: Pick<Cooldowns, 'of'>;
  readonly scores: ScoreLookup;
  readonly backoff: Pick<FailureBackoff, 'isBackedOff'>;
}

/** Each name is looked up among all models. */
const maxNames = 32;

/* ---- selection ---- */

/**
 * Named models first, in the given order; then, with `allowFallback`, the others. Among equals: available before cooling
 * down, backed off last, then by effective score, then by name. `auto` without fallback is the first of them alone.
 * Never empty: fails with INPUT_INVALID, GATEWAY_MODEL_NOT_FOUND, GATEWAY_NOT_CONFIGURED or
 * GATEWAY_CAPABILITY_UNSUPPORTED.
 */
export function selectCandidates(
  request: CompletionRequest,
  allowFallback: boolean,
  snapshot: RoutingSnapshot,
): readonly Candidate[] {
  const names = parseNames(request.model);
  const specific = names.filter((name) => name !== autoModel);
  const named = specific.map((name) => modelsNamed(name, snapshot.models));
  const requirements = requirementsOf(request);

  if (request.operation === 'embeddings')
    return selectSameModel(named, allowFallback, requirements, snapshot);

  const acceptsAny = specific.length < names.length;
  const scope = allowFallback || acceptsAny ? snapshot.models : distinct(named);
  const usable = withEnoughContext(
    usableCandidates(scope, named, requirements, snapshot),
    request.estimatedTokens,
  );
  const ordered = inOrder(usable, named, snapshot);
  return specific.length === 0 && !allowFallback ? ordered.slice(0, 1) : ordered;
}

/** Two names may refer to the same model. */
const distinct = (named: NamedModels): readonly Model[] =>
  named.length === 1 && named[0] ? named[0] : [...new Set(named.flat())];

/** Each once, in the given order. */
function parseNames(written: string): readonly string[] {
  if (!written.includes(',')) return [written.trim() || autoModel];
  const names = written.split(',', maxNames + 1);
  if (names.length > maxNames)
    throw invalidModel(`has more than ${maxNames} names; "${autoModel}" selects from all models`);
  const given = new Set(names.map((name) => name.trim()));
  given.delete('');
  if (given.size === 0) throw invalidModel(`has commas and no name; "${autoModel}" selects the best model`);
  return [...given];
}

function invalidModel(problem: string): CoreError {
  return new CoreError('INPUT_INVALID', `The field "model" of the request ${problem}.`, {
    details: { field: 'model' },
  });
}

/** The list of models is the same object until a model changes. */
const nameIndexes = new WeakMap<readonly Model[], ReadonlyMap<string, Model>>();

function byName(models: readonly Model[]): ReadonlyMap<string, Model> {
  let index = nameIndexes.get(models);
  if (!index) nameIndexes.set(models, (index = new Map(models.map((model) => [model.name, model]))));
  return index;
}

/** A model's own name refers to it alone; a provider's name for it to all that offer it. */
function modelsNamed(name: string, models: readonly Model[]): readonly Model[] {
  const exact = byName(models).get(name);
  const found = exact ? [exact] : models.filter((model) => identityOf(model) === modelIdentity(name));
  if (found.length === 0) throw modelNameNotFound(name, models);
  return found;
}

function candidateOf(
  model: Model,
  requirements: readonly Requirement[],
  keys: KeyLookup,
  isFirstChoice: boolean,
): Candidate | undefined {
  if (!model.isActive || !meetsAll(model.capabilities, requirements)) return undefined;
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
  return candidateOf(model, requirementsOf(request), keys, isFirstChoice);
}

function usableCandidates(
  scope: readonly Model[],
  named: NamedModels,
  requirements: readonly Requirement[],
  { keys, models }: RoutingSnapshot,
): readonly Candidate[] {
  const [first] = named;
  const usable: Candidate[] = [];
  for (const model of scope) {
    const candidate = candidateOf(model, requirements, keys, first?.includes(model) ?? true);
    if (candidate) usable.push(candidate);
  }
  if (usable.length === 0) throw noCandidateError(scope, requirements, keys, models);
  return usable;
}

/**
 * For embeddings: vectors of different models must never mix, within a request or between two. So only one model is
 * used, and which one depends on the names and the configuration alone, not on scores and cooldowns. Names of different
 * models are rejected. `auto` is the model that most providers offer (the most fallbacks), then the first by name.
 */
function selectSameModel(
  named: NamedModels,
  allowFallback: boolean,
  requirements: readonly Requirement[],
  snapshot: RoutingSnapshot,
): readonly Candidate[] {
  const identities = new Set(named.flat().map(identityOf));
  if (identities.size > 1)
    throw invalidModel(
      'names different models, whose vectors cannot be compared; name one, or the same one at several providers',
    );
  const isNamed = (model: Model) => identities.has(identityOf(model));
  const scope =
    named.length === 0 ? snapshot.models : allowFallback ? snapshot.models.filter(isNamed) : distinct(named);
  const usable = usableCandidates(scope, named, requirements, snapshot);
  const groups = Map.groupBy(usable, ({ model }) => identityOf(model));
  const ordered = inOrder(groups.get(maxOffered(groups)) ?? [], named, snapshot);
  return named.length === 0 && !allowFallback ? ordered.slice(0, 1) : ordered;
}

const identityOf = ({ upstreamModel }: Model): string => modelIdentity(upstreamModel);

function maxOffered(groups: ReadonlyMap<string, readonly Candidate[]>): string {
  const sizes = [...groups].map(([upstream, members]) => ({ upstream, size: members.length }));
  sizes.sort((a, b) => b.size - a.size || (a.upstream < b.upstream ? -1 : 1));
  return sizes[0]?.upstream ?? '';
}

/** Drops models whose context is too small. The estimate is rough: if all are too small, the largest remain. */
function withEnoughContext(candidates: readonly Candidate[], tokens: number): readonly Candidate[] {
  const sizeOf = ({ model }: Candidate) => model.capabilities.contextTokens ?? Number.POSITIVE_INFINITY;
  const isLarge = (candidate: Candidate) => sizeOf(candidate) >= tokens;
  if (candidates.every(isLarge)) return candidates;
  const large = candidates.filter(isLarge);
  if (large.length > 0) return large;
  const largest = Math.max(...candidates.map(sizeOf));
  return candidates.filter((candidate) => sizeOf(candidate) === largest);
}

/* ---- order ---- */

function inOrder(
  candidates: readonly Candidate[],
  named: NamedModels,
  snapshot: RoutingSnapshot,
): readonly Candidate[] {
  if (candidates.length < 2) return candidates;
  const positions = namedPositions(named);
  const ranked = candidates.map((candidate) => sortKeyOf(candidate, positions, snapshot));
  ranked.sort(
    (a, b) =>
      a.position - b.position ||
      a.isCoolingDown - b.isCoolingDown ||
      a.isBackedOff - b.isBackedOff ||
      b.score - a.score ||
      (a.candidate.model.name < b.candidate.model.name ? -1 : 1),
  );
  return ranked.map(({ candidate }) => candidate);
}

/** For named models, the position of the first name that refers to them. */
function namedPositions(named: NamedModels): ReadonlyMap<Model, number> {
  const positions = new Map<Model, number>();
  for (const [position, models] of named.entries())
    for (const model of models) if (!positions.has(model)) positions.set(model, position);
  return positions;
}

function sortKeyOf(
  candidate: Candidate,
  positions: ReadonlyMap<Model, number>,
  { cooldowns, scores, backoff }: RoutingSnapshot,
) {
  const { model, keys } = candidate;
  return {
    candidate,
    position: positions.get(model) ?? maxNames,
    isCoolingDown: Number(keys.every((key) => cooldowns.of(model.id, key.id) !== undefined)),
    isBackedOff: Number(backoff.isBackedOff(model.id)),
    score: scores.of(model.id).effectiveScore,
  };
}
