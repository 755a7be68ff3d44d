// Keeps the quotas that providers give, so that they do not have to refuse.
//
// Every take is counted here first, then in the shared counter if there is one. Here at the limit means at the limit
// everywhere, so nobody else need be asked. While the shared counter is away each process goes by its own count: a
// process alone never exceeds a quota, n of them exceed it at most n times, and what a process took meanwhile still
// binds it when the counter is back.
import type { Clock, Emitter } from '../../core/index.ts';
import { kindOf } from '../../core/index.ts';
import type { GatewayEvents } from '../events.ts';
import type { ProviderKeys, Model, QuotaGrant, QuotaKeeper, TokenEstimate } from '../ports.ts';
import { MemoryQuotaCounter } from './memory-quota-counter.ts';
import type { CountedWindow, PastCalls, QuotaCounter } from './ports.ts';
import { dayMs, quotaWindows } from './quota-windows.ts';

export interface ProviderQuotasDeps {
  readonly clock: Clock;
  readonly events: Emitter<GatewayEvents>;
  /** What other processes count in, too. Default: none. */
  readonly shared?: QuotaCounter | undefined;
}

/** A shared counter that takes longer is not waited for, and not asked again for a while. */
const patienceMs = 250;
const pauseMs = 5_000;
/**
 * Of a quota of tokens, set aside at most for one answer. Many callers write the largest `max_tokens` there is and use a
 * hundredth of it: taken at its word, it would fit only into a window that nobody has used.
 */
const answerShare = 0.1;

const unlimited = Promise.resolve({ grant: { settle: () => undefined, refund: () => undefined } });

export class ProviderQuotas implements QuotaKeeper {
  readonly #clock: Clock;
  readonly #events: Emitter<GatewayEvents>;
  readonly #local: MemoryQuotaCounter;
  readonly #shared: QuotaCounter | undefined;
  readonly #windows = new WeakMap<Model['quotas'], readonly CountedWindow[]>();
  readonly #startedAt: number;
  readonly #seeded = new Set<number>();
  /** Monotonic. */
  #sharedPausedUntil = Number.NEGATIVE_INFINITY;

  constructor({ clock, events, shared }: ProviderQuotasDeps) {
    this.#clock = clock;
    this.#events = events;
    this.#local = new MemoryQuotaCounter(clock);
    this.#shared = shared;
    this.#startedAt = clock.now();
  }

  take(
    model: Model,
    keyId: string,
    estimate: TokenEstimate,
  ): Promise<{ readonly grant: QuotaGrant } | { readonly availableAt: number }> {
    const windows = this.#windowsOf(model);
    return windows.length === 0 ? unlimited : this.#take(model, keyId, windows, estimate);
  }

  async usedUpUntil(model: Model, keyId: string): Promise<number | null> {
    const windows = this.#windowsOf(model);
    if (windows.length === 0) return null;
    const name = nameOf(model, keyId);
    const smallest = costsOf(windows, 1, 1);
    const here = this.#local.wait(name, windows, smallest);
    const there = await this.#askShared((shared) => shared.wait(name, windows, smallest));
    const waitMs = Math.max(here, there ?? 0);
    return waitMs === 0 ? null : this.#clock.now() + waitMs;
  }

  /**
   * Counts what was called before this process started, of models not counted yet. The log does not know by which key:
   * keys take turns, so the calls are dealt out in turn. Fails with STATE_UNAVAILABLE; then call it again.
   */
  async seed(models: readonly Model[], keys: ProviderKeys, past: PastCalls): Promise<void> {
    for (const model of models) {
      const windows = this.#windowsOf(model);
      const ring = keys.keysOf(model);
      if (windows.length === 0 || ring.length === 0 || this.#seeded.has(model.id)) continue;
      const calls = await past.since(model.id, this.#startedAt - dayMs);
      this.#seeded.add(model.id);
      const before = calls.filter(({ at }) => at < this.#startedAt).sort((a, b) => a.at - b.at);
      for (const [index, { at, tokens }] of before.entries()) {
        const keyId = ring[index % ring.length]?.id ?? '';
        const stamp = this.#clock.monotonic() - (this.#clock.now() - at);
        this.#local.correct(nameOf(model, keyId), windows, costsOf(windows, 1, tokens), stamp);
      }
    }
  }

  async #take(model: Model, keyId: string, windows: readonly CountedWindow[], estimate: TokenEstimate) {
    const name = nameOf(model, keyId);
    const costs = windows.map((window) => setAside(window, estimate));
    const here = this.#local.count(name, windows, costs);
    if (here.waitMs > 0) return { availableAt: this.#clock.now() + here.waitMs };
    const correctHere = (amounts: readonly number[]) =>
      this.#local.correct(name, windows, amounts, here.stamp);
    const there = await this.#askShared((shared) => shared.count(name, windows, costs));
    if (there && there.waitMs > 0) {
      correctHere(costs.map((cost) => -cost));
      return { availableAt: this.#clock.now() + there.waitMs };
    }
    const turnInto = (real: readonly number[]) => {
      const amounts = real.map((cost, index) => cost - (costs[index] ?? 0));
      if (amounts.every((amount) => amount === 0)) return;
      correctHere(amounts);
      if (there) this.#correctShared(name, windows, amounts, there.stamp);
    };
    return { grant: grantOf(turnInto, windows) };
  }

  /** If it cannot be told, the estimate stays. */
  #correctShared(name: string, windows: readonly CountedWindow[], amounts: readonly number[], stamp: number) {
    const shared = this.#shared;
    if (shared) Promise.try(() => shared.correct(name, windows, amounts, stamp)).catch(() => undefined);
  }

  /** Undefined when it cannot be asked. */
  async #askShared<T extends object | number>(
    ask: (shared: QuotaCounter) => T | Promise<T>,
  ): Promise<T | undefined> {
    const shared = this.#shared;
    if (!shared || this.#clock.monotonic() < this.#sharedPausedUntil) return undefined;
    let stopTimer: () => void = () => undefined;
    const tooLong = new Promise<'timeout'>((resolve) => {
      stopTimer = this.#clock.after(patienceMs, () => resolve('timeout'));
    });
    const asking = Promise.try(() => ask(shared));
    const answer = await Promise.race([asking.catch((error: unknown) => kindOf(error)), tooLong]);
    stopTimer();
    if (typeof answer !== 'string') return answer;
    this.#sharedPausedUntil = this.#clock.monotonic() + pauseMs;
    this.#events.emit('gateway:store-failed', { what: 'shared quotas', cause: answer, waiting: 0 });
    return undefined;
  }

  #windowsOf({ quotas }: Model): readonly CountedWindow[] {
    const known = this.#windows.get(quotas);
    if (known) return known;
    const windows = quotaWindows(quotas);
    this.#windows.set(quotas, windows);
    return windows;
  }
}

/**
 * By where the model leads, not by its id: removed and added again at the same place, it goes on with what the provider
 * has counted; elsewhere it begins anew.
 */
const nameOf = ({ name, baseUrl, upstreamModel }: Model, keyId: string): string =>
  `${name} ${baseUrl} ${upstreamModel}:${keyId}`;

function costsOf(windows: readonly CountedWindow[], requests: number, tokens: number): number[] {
  return windows.map(({ unit }) => (unit === 'requests' ? requests : tokens));
}

/** What is counted before the call: the whole prompt, and of the answer no more than its share. */
function setAside({ unit, limit }: CountedWindow, estimate: TokenEstimate): number {
  if (unit === 'requests') return 1;
  const { estimatedTokens, estimatedPromptTokens } = estimate;
  const answer = Math.min(estimatedTokens - estimatedPromptTokens, limit * answerShare);
  return Math.ceil(estimatedPromptTokens + answer);
}

/** Settled or given back once; what comes after is ignored. */
function grantOf(turnInto: (real: readonly number[]) => void, windows: readonly CountedWindow[]): QuotaGrant {
  let isOpen = true;
  const once = (requests: number, tokens: number) => {
    if (isOpen) turnInto(costsOf(windows, requests, tokens));
    isOpen = false;
  };
  return {
    settle: (tokens) => once(1, Math.ceil(tokens)),
    refund: () => once(0, 0),
  };
}
