// Models from memory, kept in step with the store.
import { isDeepStrictEqual } from 'node:util';
import { GatewayError } from '../errors.ts';
import type { Model, ModelDefinition, ModelStore } from '../ports.ts';
import { forPerson } from './in-time.ts';
import type { Reload } from '../../resilience/index.ts';
import type { StateDeps } from './state-parts.ts';
import { reloadOf } from './state-parts.ts';

export interface ModelRegistryParts extends StateDeps {
  readonly store: ModelStore;
  /** What comes with the product. */
  readonly builtIn: readonly ModelDefinition[];
  /** What the config file says; wins over what comes with the product. */
  readonly configured: readonly ModelDefinition[];
}

export class ModelRegistry {
  readonly #parts: ModelRegistryParts;
  readonly #reload: Reload;
  readonly #defined: ReadonlySet<string>;
  #models: readonly Model[] = [];
  #byId: ReadonlyMap<number, Model> = new Map();
  #byName: ReadonlyMap<string, Model> = new Map();

  constructor(parts: ModelRegistryParts) {
    this.#parts = parts;
    this.#defined = new Set([...parts.builtIn, ...parts.configured].map(({ name }) => name));
    this.#reload = reloadOf(parts, 'read models', () => this.#load());
  }

  /** By id. The same array until something changes, and the same object until that model changes. */
  list(): readonly Model[] {
    return this.#models;
  }

  byId(id: number): Model | undefined {
    return this.#byId.get(id);
  }

  byName(name: string): Model | undefined {
    return this.#byName.get(name);
  }

  /** Fails with GATEWAY_MODEL_EXISTS or STATE_UNAVAILABLE. */
  add(definition: ModelDefinition): Promise<Model> {
    return this.#forPerson(async (store) => {
      const added = await store.add(definition);
      this.#show([...this.#models, added]);
      await this.#reload.refresh();
      return added;
    });
  }

  /** Fails with GATEWAY_MODEL_NOT_FOUND or STATE_UNAVAILABLE. */
  setActive(id: number, isActive: boolean): Promise<Model> {
    return this.#forPerson(async (store) =>
      this.#changed(id, this.#byId.has(id) && (await store.setActive(id, isActive))),
    );
  }

  /** Only of a model that somebody added. Fails with GATEWAY_MODEL_NOT_FOUND or STATE_UNAVAILABLE. */
  replace(id: number, definition: ModelDefinition): Promise<Model> {
    return this.#forPerson(async (store) => this.#changed(id, await store.replace(id, definition)));
  }

  /** Only of a model that somebody added. Fails with GATEWAY_MODEL_NOT_FOUND or STATE_UNAVAILABLE. */
  remove(id: number): Promise<void> {
    return this.#forPerson(async (store) => {
      if (!(await store.remove(id))) throw unknown(id);
      this.#show(this.#models.filter((model) => model.id !== id));
      await this.#reload.refresh();
    });
  }

  /** By id, of all there ever were. Fails with STATE_UNAVAILABLE. */
  names(): Promise<ReadonlyMap<number, string>> {
    return this.#forPerson((store) => store.names());
  }

  /** Brings the store in step with the definitions, then loads. Fails with STATE_UNAVAILABLE. */
  async start(): Promise<void> {
    const { store, builtIn, configured } = this.#parts;
    const ofConfig = new Set(configured.map(({ name }) => name));
    await store.sync(
      builtIn.filter(({ name }) => !ofConfig.has(name)),
      'built-in',
    );
    await store.sync(configured, 'config');
    await this.#reload.start();
  }

  refresh(): Promise<boolean> {
    return this.#reload.refresh();
  }

  close(): Promise<void> {
    return this.#reload.close();
  }

  #forPerson<T>(work: (store: ModelStore) => Promise<T>): Promise<T> {
    return forPerson(this.#parts.clock, work(this.#parts.store));
  }

  async #changed(id: number, changed: Model | false | undefined): Promise<Model> {
    if (!changed) throw unknown(id);
    this.#show(this.#models.map((model) => (model.id === id ? changed : model)));
    await this.#reload.refresh();
    return changed;
  }

  async #load(): Promise<void> {
    const stored = await this.#parts.store.list();
    // What neither the product nor the config file defines any more stays in the store for its history only.
    this.#show(stored.filter(({ origin, name }) => origin === 'added' || this.#defined.has(name)));
  }

  #show(models: readonly Model[]): void {
    const next = models
      .map((model) => {
        const known = this.#byId.get(model.id);
        return known && isDeepStrictEqual(known, model) ? known : model;
      })
      .sort((a, b) => a.id - b.id);
    if (next.length === this.#models.length && next.every((model, index) => model === this.#models[index]))
      return;
    this.#models = next;
    this.#byId = new Map(next.map((model) => [model.id, model]));
    this.#byName = new Map(next.map((model) => [model.name, model]));
  }
}

const unknown = (id: number): GatewayError =>
  new GatewayError(
    'GATEWAY_MODEL_NOT_FOUND',
    `There is no model with the id ${id}. "headworks models list" shows all.`,
  );
