// Discovery: reads the lists of models of configured providers, on schedule or on demand, applies what follows from them
// and records it. A provider whose list keeps failing is in the ledger.
import type { Clock, Emitter, HttpTransport, IdSource, Redactor } from '../../core/index.ts';
import { CoreError, HttpFailure, nearNames } from '../../core/index.ts';
import type { Degradation, LedgerRecorder, RegisteredRepair } from '../../ledger/index.ts';
import type { GatewayEvents } from '../events.ts';
import { withStoreTimeout } from '../state/store-access.ts';
import type { DiscoveryStore } from '../stores.ts';
import type { Discovery, ProviderKey } from '../types.ts';
import type { ModelList } from './list-effects.ts';
import { planList } from './list-effects.ts';
import type { ListedModel } from './model-list.ts';
import { readListPage } from './model-list.ts';
import type { ModelRegistry } from './model-registry.ts';
import type { DiscoverySettings, ProviderDefinition } from './provider-definition.ts';
import type { KeyLookup } from './provider-keys.ts';
import { describeMissing } from './provider-keys.ts';

export interface DiscoveryDeps {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly events: Emitter<GatewayEvents>;
  readonly transport: HttpTransport;
  readonly redactor: Pick<Redactor, 'text'>;
  readonly providers: readonly ProviderDefinition[];
  readonly keys: KeyLookup;
  readonly models: Pick<ModelRegistry, 'list' | 'applyList'>;
  readonly store: DiscoveryStore;
  /** The most chat models to add of one provider, unless that has a limit of its own. */
  readonly limit: number;
  readonly ledger?: LedgerRecorder | undefined;
  /** Called when models were added. */
  readonly onDefined: () => void;
}

export interface DiscoverOptions {
  /** Default: every configured provider. */
  readonly provider?: string | undefined;
  /** Reports what would change, and changes and records nothing. */
  readonly isDryRun: boolean;
}

type ListedProvider = ProviderDefinition & { readonly discovery: DiscoverySettings };

/** Providers read at the same time. */
const concurrency = 8;
const maxPages = 50;
const maxListed = 5_000;
const maxPageBytes = 16 * 1024 * 1024;
/** For all pages of one provider together. */
const listTimeoutMs = 60_000;
const connectTimeoutMs = 10_000;
/** A rejected key is followed by the next one. */
const maxKeys = 3;
/** Failures in a row that are worth a row in the ledger. */
const lastingFailures = 2;

export class DiscoveryService {
  readonly #deps: DiscoveryDeps;

  constructor(deps: DiscoveryDeps) {
    this.#deps = deps;
  }

  /**
   * Reads lists now. Fails with NOT_FOUND for an unknown provider, INPUT_INVALID for one that has no key or no list, and
   * CANCELED.
   */
  async discover(
    { provider, isDryRun }: DiscoverOptions,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<readonly Discovery[]> {
    const chosen = provider === undefined ? this.#configured() : [this.#named(provider)];
    return this.#discoverAll(chosen, 'manual', isDryRun, signal);
  }

  /** Reads the lists that are due, as far as no other process does. */
  async discoverDue(intervalMs: number, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps;
    const configured = this.#configured();
    if (configured.length === 0) return;
    const names = configured.map(({ name }) => name);
    const due = await withStoreTimeout(clock, store.claim(names, clock.now(), intervalMs));
    const chosen = configured.filter(({ name }) => due.includes(name));
    await this.#discoverAll(chosen, 'schedule', false, signal);
  }

  /** Newest first. Fails with STATE_UNAVAILABLE. */
  list(filter: Parameters<DiscoveryStore['list']>[0]): Promise<readonly Discovery[]> {
    return withStoreTimeout(this.#deps.clock, this.#deps.store.list(filter));
  }

  /** Repaired once the list can be read; gone when the provider is no longer configured. */
  get repair(): RegisteredRepair {
    return {
      kind: discoveryFailingKind,
      describe: "Reads the provider's list of models.",
      repair: async ({ subject }, signal) => {
        const provider = this.#configured().find(({ name }) => name === subject);
        if (!provider) return { outcome: 'gone' };
        const { outcome, message } = await this.#discover(provider, 'repair', false, signal);
        return outcome === 'failed'
          ? { outcome: 'still-broken', reason: message ?? 'It still fails.' }
          : { outcome: 'repaired' };
      },
    };
  }

  /** With a key, or local and with an address, and a list of models. */
  #configured(): readonly ListedProvider[] {
    return this.#deps.providers.filter(hasList).filter((provider) => this.#deps.keys.isConfigured(provider));
  }

  #named(name: string): ListedProvider {
    const { providers, keys } = this.#deps;
    const provider = providers.find((each) => each.name === name);
    if (!provider) {
      const near = nearNames(
        name,
        providers.map((each) => each.name),
      );
      const hint = near.length > 0 ? ` Did you mean ${near.join(' or ')}?` : '';
      throw new CoreError('NOT_FOUND', `There is no provider "${name.slice(0, 100)}".${hint}`);
    }
    if (!hasList(provider))
      throw new CoreError(
        'INPUT_INVALID',
        `The models of ${name} cannot be listed. Define them in gateway.providers or gateway.models.`,
      );
    const missing = keys.missingEnvVars(provider);
    if (missing.length > 0)
      throw new CoreError(
        'INPUT_INVALID',
        `${name} is not configured: set ${describeMissing(missing)} in the environment of the server.`,
      );
    return provider;
  }

  async #discoverAll(
    providers: readonly ListedProvider[],
    trigger: Discovery['trigger'],
    isDryRun: boolean,
    signal: AbortSignal,
  ): Promise<readonly Discovery[]> {
    const results: Discovery[] = [];
    const waiting = providers.entries();
    const worker = async (): Promise<void> => {
      for (const [index, provider] of waiting)
        results[index] = await this.#discover(provider, trigger, isDryRun, signal);
    };
    const workers = await Promise.allSettled(Array.from({ length: concurrency }, worker));
    const failed = workers.find((each) => each.status === 'rejected');
    if (failed) throw failed.reason;
    return results;
  }

  async #discover(
    provider: ListedProvider,
    trigger: Discovery['trigger'],
    isDryRun: boolean,
    signal: AbortSignal,
  ): Promise<Discovery> {
    checkNotCanceled(signal);
    const { clock, ids, models, limit } = this.#deps;
    const run = { id: ids.uuid(), at: new Date(clock.now()), provider: provider.name, trigger };
    let list: ModelList;
    try {
      list = await this.#readList(provider, signal);
    } catch (error) {
      checkNotCanceled(signal);
      if (!(error instanceof ListFailure)) throw error;
      const failed = { ...run, outcome: 'failed', message: error.message, listed: 0, changes: [] } as const;
      if (!isDryRun) await this.#recordFailure(failed, error.failure);
      return failed;
    }
    const listed = list.models.filter(({ kind }) => kind !== 'other').length;
    const { effects, changes } = planList(provider, list, models.list(), limit);
    const outcome = listed === 0 ? 'empty' : 'completed';
    const discovery: Discovery = { ...run, outcome, message: null, listed, changes };
    if (isDryRun) return discovery;
    await models.applyList(effects);
    if (effects.definitions.length > 0) this.#deps.onDefined();
    await this.#record(discovery);
    return discovery;
  }

  async #record(discovery: Discovery): Promise<void> {
    const { clock, events, store } = this.#deps;
    const { provider, trigger, outcome, listed, changes } = discovery;
    const count = (change: string) => changes.filter((each) => each.change === change).length;
    events.emit('gateway:models-discovered', {
      provider,
      trigger,
      outcome,
      listed,
      added: count('added'),
      changed: count('changed'),
      retired: count('retired'),
      returned: count('returned'),
    });
    await withStoreTimeout(clock, store.add(discovery));
  }

  async #recordFailure(discovery: Discovery, cause: string): Promise<void> {
    const { ledger, store, clock, providers, keys } = this.#deps;
    await this.#record(discovery);
    const { provider } = discovery;
    const last = await withStoreTimeout(clock, store.list({ provider, limit: lastingFailures }));
    if (last.length < lastingFailures || last.some(({ outcome }) => outcome !== 'failed')) return;
    const definition = providers.find(({ name }) => name === provider);
    const variable = definition ? keys.keySourceOf(definition) : null;
    void ledger?.record(discoveryFailing(discovery, cause, variable));
  }

  /* ---- the list ---- */

  async #readList(provider: ListedProvider, signal: AbortSignal): Promise<ModelList> {
    const url = this.#deps.keys.baseUrlOf({ baseUrl: provider.discovery.url });
    if (url === undefined) throw new ListFailure('its address is not a URL', 'misconfigured');
    const keys = this.#deps.keys.keysOf(provider).slice(0, maxKeys);
    for (const [index, key] of keys.entries())
      try {
        return await this.#readPages(provider, url, key, signal);
      } catch (error) {
        const isOtherKeyWorthIt = error instanceof ListFailure && error.isKeyRejected;
        if (!isOtherKeyWorthIt || index === keys.length - 1) throw error;
      }
    throw new ListFailure('it has no key', 'misconfigured');
  }

  async #readPages(
    provider: ListedProvider,
    url: string,
    key: ProviderKey,
    signal: AbortSignal,
  ): Promise<ModelList> {
    const { clock } = this.#deps;
    const deadline = clock.now() + listTimeoutMs;
    const query = new URLSearchParams(provider.discovery.query);
    const models: ListedModel[] = [];
    for (let pages = 0; pages < maxPages; pages++) {
      const page = await this.#readPage(
        provider,
        query.size === 0 ? url : `${url}?${query.toString()}`,
        key,
        Math.max(1, deadline - clock.now()),
        signal,
      );
      models.push(...page.models);
      if (models.length > maxListed) break;
      if (page.next === null) return { models, isComplete: true };
      // A page that leads to itself would be read forever.
      if (query.get(page.next.name) === page.next.value) break;
      query.set(page.next.name, page.next.value);
    }
    return { models: models.slice(0, maxListed), isComplete: false };
  }

  async #readPage(
    { headers, keyHeader, discovery }: ListedProvider,
    url: string,
    { secret }: ProviderKey,
    timeoutMs: number,
    signal: AbortSignal,
  ) {
    const credentials = keyHeader === 'authorization' ? `Bearer ${secret}` : secret;
    try {
      const response = await this.#deps.transport.request({
        method: 'GET',
        url,
        headers: {
          ...headers,
          ...discovery.headers,
          accept: 'application/json',
          'accept-encoding': 'identity',
          ...(credentials === null || secret === null ? {} : { [keyHeader]: credentials }),
        },
        signal,
        connectTimeoutMs,
        headersTimeoutMs: timeoutMs,
        bodyTimeoutMs: timeoutMs,
        responseTimeoutMs: timeoutMs,
      });
      const { status } = response;
      if (status < 200 || status >= 300) {
        await response.discard();
        throw new ListFailure(`its list of models responded with ${status}`, `http-${status}`, status);
      }
      const page = readListPage(await response.bytes(maxPageBytes));
      if (!page) throw new ListFailure('its response is not a list of models', 'invalid-response');
      return page;
    } catch (error) {
      if (!(error instanceof HttpFailure)) throw error;
      throw new ListFailure(
        `its list of models cannot be read: ${this.#deps.redactor.text(error.message).replace(/\.$/, '')}`,
        error.kind,
      );
    }
  }
}

/** The public methods, for callers and test doubles. */
export type Discoveries = Pick<DiscoveryService, 'discover' | 'list'>;

function checkNotCanceled({ aborted }: AbortSignal): void {
  if (aborted) throw new CoreError('CANCELED', 'The discovery of models was canceled.');
}

const hasList = (provider: ProviderDefinition): provider is ListedProvider => provider.discovery !== null;

class ListFailure extends Error {
  override readonly name = 'ListFailure';
  /** For the ledger. */
  readonly failure: string;
  readonly isKeyRejected: boolean;

  constructor(message: string, cause: string, status = 0) {
    super(message);
    this.failure = cause;
    this.isKeyRejected = [401, 402, 403, 429].includes(status);
  }
}

/* ---- lists that keep failing ---- */

/** The ledger kind; the subject is the provider's name. */
export const discoveryFailingKind = 'gateway.discovery-failing';

function discoveryFailing(
  { provider, message }: Discovery,
  cause: string,
  /** The variable that holds its key; null without one. */
  variable: string | null,
): Degradation {
  const remedy =
    variable === null ? `Check ${provider} and its address` : `Check ${provider} and the key in ${variable}`;
  return {
    kind: discoveryFailingKind,
    subject: provider,
    cause,
    message:
      `The models of ${provider} could not be discovered several times in a row: ${message ?? cause}. Its known models are ` +
      `still used. ${remedy}, then run "headworks models discover --provider ${provider}"; discovery: false in ` +
      `gateway.providers turns it off.`,
    details: { provider, env_var: variable },
  };
}
