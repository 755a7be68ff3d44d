// Counts calls against the providers' quotas, so that providers do not have to reject them.
import type { Clock } from '../../core/index.ts';
import type { KeyLookup } from '../models/provider-keys.ts';
import type { AttemptStore } from '../stores.ts';
import type { Model, TokenEstimate } from '../types.ts';
import type { QuotaWindow } from './quota-counter.ts';
import { dayMs, quotaWindowsOf } from './quota-counter.ts';
import type { TieredCounter } from './tiered-counter.ts';

export type QuotaGrant = ReturnType<typeof grantOf>;

/** A grant, or when (epoch milliseconds) there may be one. */
export type QuotaDecision = { readonly grant: QuotaGrant } | { readonly availableAt: number };

/**
 * The share of a token quota reserved at most for one completion. Many callers send the largest possible `max_tokens`
 * and use a hundredth of it; reserved in full, it would fit only into an empty window.
 */
const completionShare = 0.1;
/** More calls per day than any quota allows. */
const maxEarlierCalls = 20_000;

const unlimitedGrant: QuotaGrant = { settle: () => undefined, refund: () => undefined };
const unlimited = Promise.resolve({ grant: unlimitedGrant });

export class ProviderQuotas {
  readonly #clock: Clock;
  readonly #counter: TieredCounter;
  readonly #windows = new WeakMap<Model['quotas'], readonly QuotaWindow[]>();
  readonly #startedAt: number;
  readonly #seeded = new Set<number>();

  constructor(clock: Clock, counter: TieredCounter) {
    this.#clock = clock;
    this.#counter = counter;
    this.#startedAt = clock.now();
  }

  /** Never waits for quota. */
  take(model: Model, keyId: string, estimate: TokenEstimate): Promise<QuotaDecision> {
    const windows = this.#windowsOf(model);
    return windows.length === 0 ? unlimited : this.#take(model, keyId, windows, estimate);
  }

  /** A grant for a model without quotas; undefined for others. */
  takeUnlimited(model: Model): QuotaGrant | undefined {
    return this.#windowsOf(model).length === 0 ? unlimitedGrant : undefined;
  }

  /** Until when (epoch milliseconds) not even the smallest call is possible; null: one is possible now. Uses no quota. */
  async exhaustedUntil(model: Model, keyId: string): Promise<number | null> {
    const windows = this.#windowsOf(model);
    if (windows.length === 0) return null;
    const name = counterName(model, keyId);
    const waitMs = await this.#counter.wait(name, windows, costsOf(windows, 1, 1));
    return waitMs === 0 ? null : this.#clock.now() + waitMs;
  }

  /**
   * Counts calls made before this process started. Attempts do not record the key; keys rotate, so the calls are
   * assigned to them in turn. Fails with STATE_UNAVAILABLE and may be repeated.
   */
  async seed(
    models: readonly Model[],
    keys: Pick<KeyLookup, 'keysOf'>,
    attempts: Pick<AttemptStore, 'list'>,
  ): Promise<void> {
    for (const model of models) {
      const windows = this.#windowsOf(model);
      const modelKeys = keys.keysOf(model);
      if (windows.length === 0 || modelKeys.length === 0 || this.#seeded.has(model.id)) continue;
      const listed = await attempts.list({ modelId: model.id, limit: maxEarlierCalls });
      this.#seeded.add(model.id);
      const calls = listed
        .filter(({ at, caller }) => this.#isEarlierCall(at) && caller !== 'manual')
        .sort((a, b) => a.at - b.at);
      for (const [index, { at, promptTokens, completionTokens }] of calls.entries()) {
        const name = counterName(model, modelKeys[index % modelKeys.length]?.id ?? '');
        const stamp = this.#clock.monotonic() - (this.#clock.now() - at);
        this.#counter.local.correct(
          name,
          windows,
          costsOf(windows, 1, promptTokens + completionTokens),
          stamp,
        );
      }
    }
  }

  #isEarlierCall(at: number): boolean {
    return at >= this.#startedAt - dayMs && at < this.#startedAt;
  }

  async #take(
    model: Model,
    keyId: string,
    windows: readonly QuotaWindow[],
    estimate: TokenEstimate,
  ): Promise<QuotaDecision> {
    const name = counterName(model, keyId);
    const costs = windows.map((window) => reservedCost(window, estimate));
    const counted = await this.#counter.count(name, windows, costs);
    if (!('correct' in counted)) return { availableAt: this.#clock.now() + counted.waitMs };
    const settleAt = (actual: readonly number[]) => {
      const amounts = actual.map((cost, index) => cost - (costs[index] ?? 0));
      if (amounts.some((amount) => amount !== 0)) counted.correct(amounts);
    };
    return { grant: grantOf(settleAt, windows) };
  }

  #windowsOf({ quotas }: Model): readonly QuotaWindow[] {
    let windows = this.#windows.get(quotas);
    if (!windows) this.#windows.set(quotas, (windows = quotaWindowsOf(quotas)));
    return windows;
  }
}

/**
 * Names the endpoint, not the id: a model removed and added again there continues with what the provider has counted.
 */
const counterName = ({ name, baseUrl, upstreamModel }: Model, keyId: string): string =>
  `${name} ${baseUrl} ${upstreamModel}:${keyId}`;

function costsOf(windows: readonly QuotaWindow[], requests: number, tokens: number): number[] {
  return windows.map(({ unit }) => (unit === 'requests' ? requests : tokens));
}

/** Counted before the call: the whole prompt, and of the completion no more than its share. */
function reservedCost({ unit, limit }: QuotaWindow, estimate: TokenEstimate): number {
  if (unit === 'requests') return 1;
  const { estimatedTokens, estimatedPromptTokens } = estimate;
  const completion = Math.min(estimatedTokens - estimatedPromptTokens, limit * completionShare);
  return Math.ceil(estimatedPromptTokens + completion);
}

/** Settled or refunded once; later calls are ignored. */
function grantOf(settleAt: (actual: readonly number[]) => void, windows: readonly QuotaWindow[]) {
  let isOpen = true;
  const once = (requests: number, tokens: number) => {
    if (isOpen) settleAt(costsOf(windows, requests, tokens));
    isOpen = false;
  };
  return {
    /** The actual cost of the call; without it the estimate stays. */
    settle: (tokens: number): void => once(1, Math.ceil(tokens)),
    /** The call was not made. */
    refund: (): void => once(0, 0),
  };
}
