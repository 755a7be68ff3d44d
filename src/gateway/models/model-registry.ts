// All models in memory, in sync with the store.
import { isDeepStrictEqual } from 'node:util';
import type { Mirror } from '../../resilience/index.ts';
import { GatewayError } from '../errors.ts';
import type { StateDeps } from '../state/store-access.ts';
import { storeMirror, withStoreTimeout } from '../state/store-access.ts';
import type { ModelStore } from '../stores.ts';
import type { ListEffects, Model, ModelDefinition } from '../types.ts';
import type { ProviderDefinition } from './provider-definition.ts';
import { endpointOf } from './provider-definition.ts';

export interface ModelRegistryDeps extends StateDeps {
  readonly store: ModelStore;
  readonly builtIn: readonly ModelDefinition[];
  /** From the configuration file; overrides built-in definitions of the same name. */
  readonly configured: readonly ModelDefinition[];
  readonly providers: readonly ProviderDefinition[];
}

export class ModelRegistry {
  readonly reload: Mirror<Model>;
  readonly #deps: ModelRegistryDeps;
  /** Names of built-in and configured models. */
  readonly #defined: ReadonlySet<string>;
  readonly #providers: ReadonlyMap<string, ProviderDefinition>;
  #models: readonly Model[] = [];
  #byId: ReadonlyMap<number, Model> = new Map();

  constructor(deps: ModelRegistryDeps) {
    const { store, builtIn, configured, providers } = deps;
    this.#deps = deps;
    this.#defined = new Set([...builtIn, ...configured].map(({ name }) => name));
    this.#providers = new Map(providers.map((provider) => [provider.name, provider]));
    this.reload = storeMirror(deps, 'read models', {
      // Models that are no longer defined anywhere stay in the store for their history only.
      list: async () =>
        (await store.list()).filter(({ origin, name, provider }) =>
          origin === 'discovered'
            ? this.#providers.has(provider)
            : origin === 'custom' || this.#defined.has(name),
        ),
      show: (models) => this.#show(models),
    });
  }

  /**
   * Models ordered by id. The same array until something changes, and the same object until that model changes: caches
   * rely on it.
   */
  list(): readonly Model[] {
    return this.#models;
  }

  byId(id: number): Model | undefined {
    return this.#byId.get(id);
  }

  /** Fails with GATEWAY_MODEL_EXISTS or STATE_UNAVAILABLE. */
  add(definition: ModelDefinition): Promise<Model> {
    return this.#withStore(async (store) => {
      const added = await store.add(definition);
      this.reload.edit((models) => [...models, added]);
      return added;
    });
  }

  /** Fails with GATEWAY_MODEL_NOT_FOUND or STATE_UNAVAILABLE. */
  setActive(id: number, isActive: boolean): Promise<Model> {
    return this.#withStore(async (store) =>
      this.#changed(id, this.#byId.has(id) && (await store.setActive(id, isActive))),
    );
  }

  /** Added models only. Fails with GATEWAY_MODEL_NOT_FOUND or STATE_UNAVAILABLE. */
  replace(id: number, definition: ModelDefinition): Promise<Model> {
    return this.#withStore(async (store) => this.#changed(id, await store.replace(id, definition)));
  }

  /** Added models only. Fails with GATEWAY_MODEL_NOT_FOUND or STATE_UNAVAILABLE. */
  remove(id: number): Promise<void> {
    return this.#withStore(async (store) => {
      if (!(await store.remove(id))) throw modelNotFound(id);
      this.reload.edit((models) => models.filter((model) => model.id !== id));
    });
  }

  /** Applies what follows from a provider's list. Fails with STATE_UNAVAILABLE. */
  async applyList(effects: ListEffects): Promise<void> {
    const names = effects.definitions.map(({ name }) => name);
    const notDefined = names.filter((name) => !this.#defined.has(name));
    await this.#withStore((store) => store.applyList(effects, notDefined));
    await this.reload.refresh();
  }

  /** Names by id, removed models included. Fails with STATE_UNAVAILABLE. */
  names(): Promise<ReadonlyMap<number, string>> {
    return this.#withStore((store) => store.names());
  }

  /** Writes the definitions to the store. Fails with STATE_UNAVAILABLE. */
  async sync(): Promise<void> {
    const { store, builtIn, configured } = this.#deps;
    const inConfig = new Set(configured.map(({ name }) => name));
    await store.sync(
      builtIn.filter(({ name }) => !inConfig.has(name)),
      'built-in',
    );
    await store.sync(configured, 'config');
    // The address or the key of their provider may have changed since they were discovered.
    const discovered = (await store.list()).flatMap((model) => {
      const provider = model.origin === 'discovered' ? this.#providers.get(model.provider) : undefined;
      return provider ? [{ ...model, ...endpointOf(provider, model.capabilities.embeddings) }] : [];
    });
    await store.sync(discovered, 'discovered');
  }

  #withStore<T>(work: (store: ModelStore) => Promise<T>): Promise<T> {
    return withStoreTimeout(this.#deps.clock, work(this.#deps.store));
  }

  #changed(id: number, changed: Model | false | undefined): Model {
    if (!changed) throw modelNotFound(id);
    this.reload.edit((models) => models.map((model) => (model.id === id ? changed : model)));
    return changed;
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
  }
}

export const modelNotFound = (id: number): GatewayError =>
  new GatewayError(
    'GATEWAY_MODEL_NOT_FOUND',
    `There is no model with the id ${id}. "headworks models list" shows all.`,
  );

export const modelExists = (name: string): GatewayError =>
  new GatewayError('GATEWAY_MODEL_EXISTS', `A model named ${name} exists already. Choose another name.`, {
    details: { name },
  });
