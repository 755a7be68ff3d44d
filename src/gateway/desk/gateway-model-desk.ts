// What people do with models: look, add, enable, cool, warm, probe, and ask why.
import type { Clock, IdSource } from '../../core/index.ts';
import { parseModelDefinition } from '../providers/index.ts';
import type {
  ModelDesk,
  ModelExplanation,
  ModelFilter,
  ModelInput,
  ModelView,
  ProbeResult,
} from '../desk-ports.ts';
import { GatewayError } from '../errors.ts';
import type { KeyRing, Model, Scores } from '../ports.ts';
import { everyKey } from '../ports.ts';
import type { Resting } from '../routing/index.ts';
import type { GatewayState } from '../state/index.ts';
import { availableAt, modelView } from '../state/index.ts';
import { placeOf } from './place.ts';

export interface ModelDeskParts {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly state: GatewayState;
  readonly keys: KeyRing;
  readonly resting: Resting;
  readonly probe: (models: readonly Model[], signal: AbortSignal) => Promise<readonly ProbeResult[]>;
  /** Its keys may be new to the redactor. */
  readonly onAdded: () => void;
}

export class GatewayModelDesk implements ModelDesk {
  readonly #parts: ModelDeskParts;

  constructor(parts: ModelDeskParts) {
    this.#parts = parts;
  }

  names(): ReadonlyMap<number, string> {
    return new Map(this.#parts.state.models.list().map(({ id, name }) => [id, name]));
  }

  askable(): readonly Model[] {
    return this.#parts.state.models.list().filter((model) => model.isActive && this.#isConfigured(model));
  }

  async list(filter: ModelFilter): Promise<readonly ModelView[]> {
    const { state } = this.#parts;
    const scores = await state.scores.forWindow(filter.windowDays);
    const views = state.models
      .list()
      .map((model) => this.#view(model, scores, filter.includeRecent))
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
        keyId: everyKey,
        until: now + retryAfterSeconds * 1_000,
        cause: 'by-hand',
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
    responseTimeSeconds: number,
  ): Promise<ModelView> {
    const model = this.#existing(id);
    const { state, clock, ids } = this.#parts;
    state.attempts.record({
      requestId: ids.uuid(),
      modelId: id,
      at: clock.now(),
      outcome,
      status: null,
      durationMs: responseTimeSeconds * 1_000,
      promptTokens: 0,
      completionTokens: 0,
      caller: 'by-hand',
    });
    await state.attempts.flush();
    return this.#view(model);
  }

  async explain(id: number): Promise<ModelExplanation> {
    const model = this.#existing(id);
    const { state, resting, keys } = this.#parts;
    const explained = await state.scores.explain(id);
    const view = this.#view(model);
    const restingUntil = resting.until(id);
    const landscape = {
      models: state.models.list(),
      keys,
      cooldowns: state.cooldowns,
      scores: state.scores,
      resting,
    };
    return { model: view, ...explained, ...placeOf(model, view, landscape), restingUntil };
  }

  probe(ids: readonly number[] | null, signal?: AbortSignal): Promise<readonly ProbeResult[]> {
    const models = ids === null ? this.askable() : ids.map((id) => this.#existing(id));
    return this.#parts.probe(models, signal ?? new AbortController().signal);
  }

  #existing(id: number): Model {
    const model = this.#parts.state.models.byId(id);
    if (model) return model;
    throw new GatewayError(
      'GATEWAY_MODEL_UNKNOWN',
      `There is no model with the id ${id}. GET /api/v1/models lists all.`,
    );
  }

  #isConfigured(model: Model): boolean {
    const { keys } = this.#parts;
    return keys.keysOf(model).length > 0 && keys.baseUrlOf(model) !== undefined;
  }

  #view(model: Model, scores: Scores = this.#parts.state.scores, includeRecent = true): ModelView {
    const { state, keys } = this.#parts;
    const keyIds = keys.keysOf(model).map(({ id }) => id);
    return modelView({
      model: state.models.byId(model.id) ?? model,
      score: scores.of(model.id),
      keyIds,
      isConfigured: this.#isConfigured(model),
      // Those of keys that are no longer set say nothing of the model any more.
      cooldowns: state.cooldowns
        .ofModel(model.id)
        .filter(({ keyId }) => keyId === everyKey || keyIds.includes(keyId)),
      availableAt: availableAt(state.cooldowns, model.id, keyIds),
      includeRecent,
    });
  }
}
