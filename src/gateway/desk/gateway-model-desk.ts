// What people do with models: look, add, replace, remove, enable, cool, warm, probe, and ask why.
import type { Clock, IdSource } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import { endpointChanged, parseModelDefinition, describeMissing } from '../providers/index.ts';
import type {
  ModelService,
  ModelExplanation,
  ModelHistory,
  ModelFilter,
  ModelInput,
  ModelView,
  ProbeResult,
} from '../desk-ports.ts';
import { GatewayError } from '../errors.ts';
import type { ProviderKeys, Model, QuotaKeeper, Scores } from '../ports.ts';
import { allKeys } from '../ports.ts';
import type { FailureBackoff } from '../routing/index.ts';
import type { GatewayState } from '../state/index.ts';
import { availableAt, forPerson, modelView } from '../state/index.ts';
import type { SeenCooldowns } from './held-keys.ts';
import { blockedKeys } from './held-keys.ts';
import { placeOf } from './place.ts';

export interface ModelServiceDeps {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly state: GatewayState;
  readonly keys: ProviderKeys;
  readonly resting: FailureBackoff;
  readonly quotas: Pick<QuotaKeeper, 'usedUpUntil'>;
  readonly probe: (models: readonly Model[], signal: AbortSignal) => Promise<readonly ProbeResult[]>;
  /** Its keys may be new to the redactor. */
  readonly onAdded: () => void;
}

export class GatewayModelService implements ModelService {
  readonly #parts: ModelServiceDeps;

  constructor(parts: ModelServiceDeps) {
    this.#parts = parts;
  }

  names(): Promise<ReadonlyMap<number, string>> {
    return this.#parts.state.models.names();
  }

  listCallable(): readonly Model[] {
    return this.#parts.state.models.list().filter((model) => model.isActive && this.#isConfigured(model));
  }

  keySourceOf(model: Model): string | null {
    return this.#parts.keys.keySourceOf(model);
  }

  async list(filter: ModelFilter): Promise<readonly ModelView[]> {
    const { state } = this.#parts;
    const scores = await state.scores.forWindow(filter.windowDays);
    const models = state.models.list();
    const held = await this.#held(models);
    const views = models
      .map((model) => this.#viewWith(model, held, scores, filter.includeRecent))
      .filter(
        (view) =>
          (!filter.activeOnly || view.isActive) &&
          (!filter.availableOnly || view.availableAt === null) &&
          (!filter.configuredOnly || view.isConfigured),
      );
    return views.sort(
      (a, b) => b.effectiveReliabilityScore - a.effectiveReliabilityScore || (a.name < b.name ? -1 : 1),
    );
  }

  async get(id: number): Promise<ModelView> {
    return this.#view(this.#existing(id));
  }

  async add(input: ModelInput): Promise<ModelView> {
    const added = await this.#parts.state.models.add(parseModelDefinition(input));
    this.#parts.onAdded();
    return this.#view(added);
  }

  async replace(id: number, input: ModelInput): Promise<ModelView> {
    const known = this.#added(id, 'replaced');
    const definition = parseModelDefinition(input);
    if (definition.name !== known.name)
      throw new CoreError(
        'INPUT_INVALID',
        `The name of ${known.name} stays as it is. Add the model as ${definition.name}, then remove ${known.name}.`,
        { details: { field: 'name' } },
      );
    const { state, resting } = this.#parts;
    const changed = await state.models.replace(id, definition);
    if (endpointChanged(known, changed)) {
      resting.succeeded(id);
      // In force here at once; what cannot be written now is written later.
      state.cooldowns.clear(id).catch(() => undefined);
    }
    this.#parts.onAdded();
    return this.#view(changed);
  }

  async remove(id: number): Promise<ModelView> {
    const view = await this.#view(this.#added(id, 'removed'));
    await this.#parts.state.models.remove(id);
    return view;
  }

  async setActive(id: number, isActive: boolean): Promise<ModelView> {
    return this.#view(await this.#parts.state.models.setActive(id, isActive));
  }

  async setAvailability(id: number, retryAfterSeconds: number, reason: string | null): Promise<ModelView> {
    const model = this.#existing(id);
    const { state, clock } = this.#parts;
    if (retryAfterSeconds === 0) await state.cooldowns.clear(id);
    else {
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

  async increment(
    id: number,
    outcome: 'success' | 'server-error',
    responseTimeSeconds: number | null,
  ): Promise<ModelView> {
    const model = this.#existing(id);
    const { state, clock, ids } = this.#parts;
    state.attempts.record({
      requestId: ids.uuid(),
      modelId: id,
      at: clock.now(),
      outcome,
      status: null,
      // Of unknown length it counts as long as the others, so that the average stays as it is.
      durationMs: (responseTimeSeconds ?? state.scores.of(id).longTerm.averageSeconds) * 1_000,
      promptTokens: 0,
      completionTokens: 0,
      caller: 'manual',
    });
    // It counts already; a store that does not take it now gets it later.
    await forPerson(clock, state.attempts.flush()).catch(() => undefined);
    return this.#view(model);
  }

  async explain(id: number): Promise<ModelExplanation> {
    const model = this.#existing(id);
    const { state, resting, keys } = this.#parts;
    const explained = await state.scores.explain(id);
    const models = state.models.list();
    const held = await this.#held(models);
    const view = this.#viewWith(model, held, state.scores, true);
    const backoffUntil = resting.until(id);
    const snapshot = { models, keys, cooldowns: held, scores: state.scores, resting };
    return { model: view, ...explained, ...placeOf(model, view, snapshot), backoffUntil };
  }

  history(id: number, hours: number): Promise<ModelHistory> {
    return this.#parts.state.scores.history(this.#existing(id).id, hours);
  }

  probe(ids: readonly number[] | null, signal?: AbortSignal): Promise<readonly ProbeResult[]> {
    const models = ids === null ? this.listCallable() : ids.map((id) => this.#existing(id));
    return this.#parts.probe(models, signal ?? new AbortController().signal);
  }

  #existing(id: number): Model {
    const model = this.#parts.state.models.byId(id);
    if (model) return model;
    throw new GatewayError(
      'GATEWAY_MODEL_NOT_FOUND',
      `There is no model with the id ${id}. GET /api/v1/models lists all.`,
    );
  }

  /** What comes with the product or stands in the settings would be back with the next start. */
  #added(id: number, what: 'replaced' | 'removed'): Model {
    const model = this.#existing(id);
    if (model.origin === 'added') return model;
    const why =
      model.origin === 'built-in'
        ? 'comes with the product'
        : 'is defined in the settings (gateway.models); change it there and start again';
    throw new CoreError(
      'CONFLICT',
      `Model ${model.name} cannot be ${what}: it ${why}. "headworks models disable ${model.name}" takes it out of use.`,
    );
  }

  #isConfigured(model: Model): boolean {
    return this.#parts.keys.missingEnvVars(model).length === 0;
  }

  #held(models: readonly Model[]): Promise<SeenCooldowns> {
    const { state, ...parts } = this.#parts;
    return blockedKeys(models, { ...parts, cooldowns: state.cooldowns });
  }

  async #view(model: Model): Promise<ModelView> {
    return this.#viewWith(model, await this.#held([model]), this.#parts.state.scores, true);
  }

  #viewWith(model: Model, held: SeenCooldowns, scores: Scores, includeRecent: boolean): ModelView {
    const { state, keys } = this.#parts;
    const keyIds = keys.keysOf(model).map(({ id }) => id);
    const missing = keys.missingEnvVars(model);
    return modelView({
      model: state.models.byId(model.id) ?? model,
      score: scores.of(model.id),
      keyIds,
      isConfigured: missing.length === 0,
      keySource: keys.keySourceOf(model),
      needs: missing.length === 0 ? null : describeMissing(missing),
      // Those of keys that are no longer set say nothing of the model any more.
      cooldowns: held.ofModel(model.id).filter(({ keyId }) => keyId === allKeys || keyIds.includes(keyId)),
      availableAt: availableAt(held, model.id, keyIds),
      includeRecent,
    });
  }
}
