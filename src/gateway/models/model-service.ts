// Operator actions on models: list, add, replace, remove, enable, set cooldowns, probe, explain.
import type { Clock, IdSource } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import { autoModel } from '../dialects/dialect.ts';
import { parseRequest } from '../dialects/parse-request.ts';
import type { ProviderQuotas } from '../quotas/provider-quotas.ts';
import type { RoutingSnapshot } from '../routing/select-candidates.ts';
import { aliasesOf, orderOf } from '../routing/model-names.ts';
import type { NameSettings } from '../routing/model-names.ts';
import { isInterchangeable, isUnchosen, selectCandidates } from '../routing/select-candidates.ts';
import type { Cooldowns, FailureBackoff } from '../state/availability.ts';
import { longerOf } from '../state/availability.ts';
import type { GatewayState } from '../state/gateway-state.ts';
import type { ScoreLookup } from '../state/scores.ts';
import { withStoreTimeout } from '../state/store-access.ts';
import type { Cooldown, Model, ModelFilter, Operation, ProbeResult } from '../types.ts';
import { allKeys } from '../types.ts';
import { modelIdentity } from './catalog.ts';
import type { ModelInput } from './model-definition.ts';
import { endpointChanged, parseModelDefinition } from './model-definition.ts';
import { modelNotFound } from './model-registry.ts';
import type { KeyState, ModelState, ModelView } from './model-view.ts';
import { availableAt, dateOrNull, modelView } from './model-view.ts';
import type { KeyLookup } from './provider-keys.ts';
import { describeMissing } from './provider-keys.ts';

export interface ModelServiceDeps {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly state: GatewayState;
  readonly keys: KeyLookup;
  readonly backoff: FailureBackoff;
  readonly policy: NameSettings;
  readonly quotas: Pick<ProviderQuotas, 'exhaustedUntil'>;
  readonly probe: (models: readonly Model[], signal: AbortSignal) => Promise<readonly ProbeResult[]>;
  /** Called when a model is defined: its keys may be new to the redactor. */
  readonly onDefined: () => void;
}

/** Methods with an id fail with GATEWAY_MODEL_NOT_FOUND when there is none. */
export class ModelService {
  readonly #deps: ModelServiceDeps;

  constructor(deps: ModelServiceDeps) {
    this.#deps = deps;
  }

  /** Names by id, removed models included. Fails with STATE_UNAVAILABLE. */
  names(): Promise<ReadonlyMap<number, string>> {
    return this.#deps.state.models.names();
  }

  /** Active models with a key, from memory. */
  listCallable(): readonly Model[] {
    const { state, keys } = this.#deps;
    return state.models.list().filter((model) => model.isActive && keys.isConfigured(model));
  }

  /** Aliases that stand for a callable model, from memory. */
  listAliases(): readonly string[] {
    const { state, policy } = this.#deps;
    const models = state.models.list();
    const callable = this.listCallable();
    const usable = new Set(callable.flatMap((model) => aliasesOf(model, models, policy)));
    const isUsable = (alias: string, names: readonly string[]) =>
      usable.has(alias) || (callable.length > 0 && names.includes(autoModel));
    return [...policy.aliases].flatMap(([alias, names]) => (isUsable(alias, names) ? [alias] : []));
  }

  async list(filter: ModelFilter): Promise<readonly ModelView[]> {
    const { state } = this.#deps;
    const scores = await state.scores.forWindow(filter.windowDays);
    const models = state.models.list();
    const blocked = await this.#blockedKeys(models);
    const views = models
      .map((model) => this.#viewWith(model, blocked, scores, filter.includeRecent))
      .filter(
        (view) =>
          (!filter.activeOnly || view.isActive) &&
          (!filter.availableOnly || (view.availableAt === null && !view.health.isFailing)) &&
          (!filter.configuredOnly || view.isConfigured),
      );
    return views.sort(
      (a, b) => b.effectiveReliabilityScore - a.effectiveReliabilityScore || (a.name < b.name ? -1 : 1),
    );
  }

  /** States of active models with a key. */
  async callableStates(): Promise<
    readonly { readonly model: string; readonly operation: Operation; readonly state: ModelState }[]
  > {
    const models = this.listCallable();
    const blocked = await this.#blockedKeys(models);
    return models.map((model) => ({
      model: model.name,
      operation: model.capabilities.embeddings ? 'embeddings' : 'chat',
      state: this.#viewWith(model, blocked, this.#deps.state.scores, false).state,
    }));
  }

  async get(id: number): Promise<ModelView> {
    return this.#view(this.#existing(id));
  }

  /** Fails with INPUT_INVALID or GATEWAY_MODEL_EXISTS. */
  async add(input: ModelInput): Promise<ModelView> {
    const added = await this.#deps.state.models.add(parseModelDefinition(input));
    this.#deps.onDefined();
    return this.#view(added);
  }

  /**
   * Replaces the definition of an added model under the same name; id, scores and usage stay. Cooldowns are cleared if
   * its endpoint changed. Fails with INPUT_INVALID, or CONFLICT for models that were not added.
   */
  async replace(id: number, input: ModelInput): Promise<ModelView> {
    const known = this.#added(id, 'replaced');
    const definition = parseModelDefinition(input);
    if (definition.name !== known.name)
      throw new CoreError(
        'INPUT_INVALID',
        `The name of ${known.name} cannot be changed. Add the model as ${definition.name}, then delete ${known.name}.`,
        { details: { field: 'name' } },
      );
    const { state, backoff } = this.#deps;
    const changed = await state.models.replace(id, definition);
    if (endpointChanged(known, changed)) {
      backoff.succeeded(id);
      // In effect here at once; what cannot be written now is written later.
      state.cooldowns.clear(id).catch(() => undefined);
    }
    this.#deps.onDefined();
    return this.#view(changed);
  }

  /** Removes an added model and returns its last state; usage stays. Fails with CONFLICT like `replace`. */
  async remove(id: number): Promise<ModelView> {
    const view = await this.#view(this.#added(id, 'deleted'));
    await this.#deps.state.models.remove(id);
    return view;
  }

  async setActive(id: number, isActive: boolean): Promise<ModelView> {
    return this.#view(await this.#deps.state.models.setActive(id, isActive));
  }

  /** Sets a cooldown on all keys of the model; 0 clears all its cooldowns, and what was counted toward the next ones. */
  async setAvailability(id: number, retryAfterSeconds: number, reason: string | null): Promise<ModelView> {
    const model = this.#existing(id);
    const { state, clock, backoff } = this.#deps;
    if (retryAfterSeconds === 0) {
      backoff.succeeded(id);
      await state.cooldowns.clear(id);
    } else {
      const now = clock.now();
      await state.cooldowns.extendDurably({
        modelId: id,
        keyId: allKeys,
        until: now + retryAfterSeconds * 1_000,
        cause: 'manual',
        source: 'admin',
        reason,
        setAt: now,
      });
    }
    return this.#view(model);
  }

  /** Records an attempt manually; without a response time the average stays as it is. */
  async increment(
    id: number,
    outcome: 'success' | 'server-error',
    responseTimeSeconds: number | null,
  ): Promise<ModelView> {
    const model = this.#existing(id);
    const { state, clock, ids } = this.#deps;
    state.attempts.record({
      requestId: ids.uuid(),
      modelId: id,
      at: clock.now(),
      outcome,
      status: null,
      durationMs: (responseTimeSeconds ?? state.scores.of(id).longTerm.averageSeconds) * 1_000,
      firstTokenMs: null,
      promptTokens: 0,
      completionTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      costUsd: null,
      caller: 'manual',
      api: '',
      requestedModel: model.name,
      callNumber: 1,
      waitedMs: 0,
      endsRequest: false,
    });
    // It counts already; a store that does not accept it now gets it later.
    await withStoreTimeout(clock, state.attempts.flush()).catch(() => undefined);
    return this.#view(model);
  }

  /** Explains the score of a model and its position in the routing order. */
  async explain(id: number) {
    const model = this.#existing(id);
    const { state, backoff, keys, policy } = this.#deps;
    const explained = await state.scores.explain(id);
    const models = state.models.list();
    const blocked = await this.#blockedKeys(models);
    const view = this.#viewWith(model, blocked, state.scores, true);
    const snapshot = { models, keys, cooldowns: blocked, scores: state.scores, backoff, policy };
    return {
      model: view,
      ...explained,
      ...explainPosition(model, view, snapshot),
    };
  }

  history(id: number, hours: number) {
    return this.#deps.state.scores.history(this.#existing(id).id, hours);
  }

  /** Sends a minimal request to these models now; to all callable ones when none are given. */
  probe(ids: readonly number[] | null, signal?: AbortSignal): Promise<readonly ProbeResult[]> {
    const models = ids === null ? this.listCallable() : ids.map((id) => this.#existing(id));
    return this.#deps.probe(models, signal ?? new AbortController().signal);
  }

  #existing(id: number): Model {
    const model = this.#deps.state.models.byId(id);
    if (model) return model;
    throw modelNotFound(id);
  }

  /** Built-in and configured models would be back after the next start. */
  #added(id: number, action: 'replaced' | 'deleted'): Model {
    const model = this.#existing(id);
    if (model.origin === 'custom') return model;
    const why = {
      'built-in': 'it is built in',
      discovered: 'it was discovered in the list of its provider',
      config: 'it is defined in the settings (gateway.models); change it there and restart the server',
    }[model.origin];
    throw new CoreError(
      'CONFLICT',
      `Model ${model.name} cannot be ${action}: ${why}. "headworks models disable ${model.name}" stops its use.`,
    );
  }

  /** Cooldowns as operators see them: an exhausted quota counts as one with cause `quota`. */
  async #blockedKeys(models: readonly Model[]): Promise<CooldownLookup> {
    const { clock, keys, quotas, state } = this.#deps;
    const exhausted: Cooldown[] = [];
    const check = async (model: Model, keyId: string) => {
      const until = await quotas.exhaustedUntil(model, keyId);
      if (until === null) return;
      const setAt = clock.now();
      exhausted.push({
        modelId: model.id,
        keyId,
        until,
        cause: 'quota',
        source: 'quota',
        reason: null,
        setAt,
      });
    };
    await Promise.all(models.flatMap((model) => keys.keysOf(model).map(({ id }) => check(model, id))));
    return {
      trials: state.cooldowns.trials,
      of: (modelId, keyId) =>
        longerOf(
          state.cooldowns.of(modelId, keyId),
          exhausted.find((each) => each.modelId === modelId && each.keyId === keyId),
        ),
      ofModel: (modelId) => [
        ...state.cooldowns.ofModel(modelId),
        ...exhausted.filter((each) => each.modelId === modelId),
      ],
    };
  }

  async #view(model: Model): Promise<ModelView> {
    return this.#viewWith(model, await this.#blockedKeys([model]), this.#deps.state.scores, true);
  }

  #viewWith(model: Model, blocked: CooldownLookup, scores: ScoreLookup, includeRecent: boolean): ModelView {
    const { state, keys, backoff } = this.#deps;
    const keyIds = keys.keysOf(model).map(({ id }) => id);
    const missing = keys.missingEnvVars(model);
    const keyState: KeyState = {
      isConfigured: missing.length === 0,
      keyCount: keyIds.length,
      keySource: keys.keySourceOf(model),
      needs: missing.length === 0 ? null : describeMissing(missing),
      // Cooldowns of keys that are no longer set are irrelevant.
      cooldowns: blocked.ofModel(model.id).filter(({ keyId }) => keyId === allKeys || keyIds.includes(keyId)),
      availableAt: dateOrNull(availableAt(blocked, model.id, keyIds)),
    };
    const current = state.models.byId(model.id) ?? model;
    const health = { ...state.health.of(model.id), backoffUntil: dateOrNull(backoff.until(model.id)) };
    return modelView(current, scores.of(model.id), keyState, health, includeRecent);
  }
}

/** The public methods, for callers and test doubles. */
export type Models = Pick<ModelService, keyof ModelService>;

type CooldownLookup = Pick<Cooldowns, 'of' | 'ofModel' | 'trials'>;

/* ---- the position in the routing order ---- */

/**
 * Position from 1, for a plain request with `auto`; null: it would not be called now. An embedding model is compared
 * with other providers of the same model.
 */
export function explainPosition(
  model: Model,
  view: ModelView,
  snapshot: RoutingSnapshot,
): { readonly position: number | null; readonly positionReason: string } {
  const none = (positionReason: string) => ({ position: null, positionReason });
  if (view.retiredAt !== null) return none('it is retired: the list of its provider does not have it.');
  if (!view.isActive) return none('it is disabled.');
  if (!view.isConfigured) return none(`it has no key: set ${view.needs ?? 'its variable'}.`);
  if (view.availableAt !== null) return none(unavailableReason(view, view.availableAt.toISOString()));
  const order = routingOrder(model, snapshot);
  const index = order.findIndex(({ id }) => id === model.id);
  return {
    position: index + 1,
    positionReason: [
      positionReason(order, index, snapshot),
      ...sharingNotes(model, order, snapshot),
      ...trialNotes(model, snapshot),
      ...aliasNotes(model, snapshot),
    ].join(' '),
  };
}

function unavailableReason({ cooldowns }: ModelView, until: string): string {
  const causes = [...new Set(cooldowns.map(({ cause }) => cause))].join(', ');
  return causes === 'quota'
    ? `its quota is used up until ${until}.`
    : `it is cooling down until ${until} (${causes}).`;
}

/** Always contains the model: it is active, has a key and supports a plain request to its endpoint. */
function routingOrder(model: Model, snapshot: RoutingSnapshot): readonly Model[] {
  const { embeddings: isEmbedding, endpoints } = model.capabilities;
  const body = { model: 'auto', input: 'x', messages: [{ role: 'user', content: 'x' }] };
  const kind = isEmbedding ? 'embeddings' : (endpoints[0] ?? 'chat');
  const request = parseRequest(kind, Buffer.from(JSON.stringify(body)));
  const isSame = (other: Model) => modelIdentity(other.upstreamModel) === modelIdentity(model.upstreamModel);
  const models = isEmbedding ? snapshot.models.filter(isSame) : snapshot.models;
  return selectCandidates(request, true, { ...snapshot, models }).map((candidate) => candidate.model);
}

function positionReason(order: readonly Model[], index: number, snapshot: RoutingSnapshot): string {
  const { scores, backoff, policy } = snapshot;
  const effective = (model: Model | undefined) => (model ? scores.of(model.id).effectiveScore : 0);
  const [model, above] = [order[index], order[index - 1]];
  const own = effective(model).toFixed(4);
  const isOrdered = model !== undefined && Number.isFinite(orderOf(model, policy));
  if (model && isInTrial(model, snapshot))
    return 'one request is trying it after its cooldown; others follow when that succeeds.';
  if (!above) {
    if (isOrdered) return 'it is the first available model of gateway.modelOrder.';
    return order.some((other) => effective(other) > effective(model))
      ? `its score is ${own}; models with a higher score are cooling down or failed several times in a row.`
      : `no available model has a higher score than its ${own}.`;
  }
  if (model && backoff.isBackedOff(model.id) && !backoff.isBackedOff(above.id))
    return 'its last requests failed in a row, so it is tried after all others for a while.';
  if (model && orderOf(above, policy) < orderOf(model, policy))
    return `gateway.modelOrder names ${above.name} before ${isOrdered ? 'it' : 'all models that it does not name'}.`;
  if (model && isUnchosen(model) && !isUnchosen(above))
    return 'it was discovered; models that are built in, configured or added come before it.';
  return `its score is ${own}; the model before it is ${above.name} with ${effective(above).toFixed(4)}.`;
}

function sharingNotes(
  model: Model,
  order: readonly Model[],
  { scores, keys, cooldowns, backoff }: RoutingSnapshot,
): readonly string[] {
  const isAvailable = (each: Model) =>
    !backoff.isBackedOff(each.id) && keys.keysOf(each).some(({ id }) => !cooldowns.of(each.id, id));
  const peers = order.filter(
    (each) => each !== model && isAvailable(each) && isInterchangeable(model, each, scores),
  );
  return peers.length === 0 || !isAvailable(model)
    ? []
    : [`It shares the load with ${joinNames(peers.map(({ name }) => name))}, the same model.`];
}

const joinNames = (names: readonly string[]): string =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

const isInTrial = (model: Model, { keys, cooldowns }: RoutingSnapshot): boolean =>
  keys.keysOf(model).every(({ id }) => cooldowns.trials.isRunning(model.id, id));

function trialNotes(model: Model, snapshot: RoutingSnapshot): readonly string[] {
  const { keys, cooldowns } = snapshot;
  const isDue = keys.keysOf(model).some(({ id }) => cooldowns.trials.isDue(model.id, id));
  return isDue && !isInTrial(model, snapshot)
    ? ['Its cooldown has ended: one request tries it before others do.']
    : [];
}

function aliasNotes(model: Model, { models, policy }: RoutingSnapshot): readonly string[] {
  const aliases = aliasesOf(model, models, policy);
  if (aliases.length === 0) return [];
  const isOne = aliases.length === 1;
  return [`The ${isOne ? 'alias' : 'aliases'} ${joinNames(aliases)} ${isOne ? 'refers' : 'refer'} to it.`];
}
