// Which models may answer a request, in the order in which they are asked.
import type { Ask, Cooldowns, KeyRing, Model, ProviderKey, Scores } from '../ports.ts';
import { modelIdentity } from '../providers/index.ts';
import type { Need } from './needs.ts';
import { canAll, needsOf } from './needs.ts';
import { noCandidate, unknownModel } from './no-candidate.ts';
import type { Resting } from './resting.ts';

export interface Candidate {
  readonly model: Model;
  readonly keys: readonly ProviderKey[];
  readonly baseUrl: string;
}

/** What is known of models at this moment. */
export interface Landscape {
  readonly models: readonly Model[];
  readonly keys: KeyRing;
  readonly cooldowns: Pick<Cooldowns, 'of'>;
  readonly scores: Scores;
  readonly resting: Pick<Resting, 'isResting'>;
}

const anyModel = 'auto';

/**
 * Named models first, in the order given; then, if `mayFallBack`, the others. Among equals: those that are free before
 * those that cool, those that rest behind the rest, then by effective score, then by name. `auto` without fallback is
 * the first of them alone. Never empty: fails with GATEWAY_MODEL_UNKNOWN, GATEWAY_NOT_CONFIGURED or GATEWAY_UNABLE.
 */
export function selectCandidates(ask: Ask, mayFallBack: boolean, landscape: Landscape): readonly Candidate[] {
  const names = ask.model.includes(',')
    ? ask.model.split(',').map((name) => name.trim())
    : [ask.model.trim()];
  const wanted = names.filter((name) => name !== '' && name !== anyModel);
  const named = wanted.map((name) => modelsNamed(name, landscape.models));
  const takesAny = wanted.length === 0 || names.includes(anyModel);
  const needs = needsOf(ask);

  if (ask.operation === 'embeddings') return sameModel(named, mayFallBack, needs, landscape);

  const scope = mayFallBack || takesAny ? landscape.models : named.flat();
  const usable = fitting(usableOf(scope, needs, landscape), ask.estimatedTokens);
  const ordered = inOrder(usable, named, landscape);
  return wanted.length === 0 && !mayFallBack ? ordered.slice(0, 1) : ordered;
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

function usableOf(
  scope: readonly Model[],
  needs: readonly Need[],
  { keys }: Landscape,
): readonly Candidate[] {
  const usable: Candidate[] = [];
  for (const model of scope) {
    if (!model.isActive || !canAll(model.capabilities, needs)) continue;
    const ring = keys.keysOf(model);
    const baseUrl = ring.length > 0 ? keys.baseUrlOf(model) : undefined;
    if (baseUrl !== undefined) usable.push({ model, keys: ring, baseUrl });
  }
  if (usable.length === 0) throw noCandidate(scope, needs, keys);
  return usable;
}

/**
 * Vectors of different models must never mix, in one request or between two: so only the very same model, and which
 * one that is depends on the names and the configuration alone, not on scores and cooldowns, which change by the hour.
 * `auto` is the model that most providers offer (the most to fall back on), then the first by name.
 */
function sameModel(
  named: readonly (readonly Model[])[],
  mayFallBack: boolean,
  needs: readonly Need[],
  landscape: Landscape,
): readonly Candidate[] {
  const upstreams = named.map(([first]) => first && identityOf(first));
  const isWanted = (model: Model) => upstreams.includes(identityOf(model));
  const scope =
    named.length === 0 ? landscape.models : mayFallBack ? landscape.models.filter(isWanted) : named.flat();
  const usable = usableOf(scope, needs, landscape);
  const groups = Map.groupBy(usable, ({ model }) => identityOf(model));
  const upstream = upstreams.find((name) => name !== undefined && groups.has(name)) ?? mostOffered(groups);
  const ordered = inOrder(groups.get(upstream) ?? [], named, landscape);
  return named.length === 0 && !mayFallBack ? ordered.slice(0, 1) : ordered;
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
  const large = candidates.filter((candidate) => sizeOf(candidate) >= tokens);
  if (large.length > 0) return large;
  const largest = Math.max(...candidates.map(sizeOf));
  return candidates.filter((candidate) => sizeOf(candidate) === largest);
}

function inOrder(
  candidates: readonly Candidate[],
  named: readonly (readonly Model[])[],
  landscape: Landscape,
): readonly Candidate[] {
  if (candidates.length < 2) return candidates;
  const ranked = candidates.map((candidate) => rankOf(candidate, named, landscape));
  ranked.sort(
    (a, b) =>
      a.turn - b.turn ||
      a.isCooling - b.isCooling ||
      a.isResting - b.isResting ||
      b.score - a.score ||
      (a.candidate.model.name < b.candidate.model.name ? -1 : 1),
  );
  return ranked.map(({ candidate }) => candidate);
}

function rankOf(
  candidate: Candidate,
  named: readonly (readonly Model[])[],
  { cooldowns, scores, resting }: Landscape,
) {
  const { model, keys } = candidate;
  const turn = named.findIndex((models) => models.includes(model));
  return {
    candidate,
    turn: turn === -1 ? named.length : turn,
    isCooling: Number(keys.every((key) => cooldowns.of(model.id, key.id) !== undefined)),
    isResting: Number(resting.isResting(model.id)),
    score: scores.of(model.id).effectiveScore,
  };
}
