// One simulated model: its script, its random faults, its quotas, its counts.
import { Chance, textHash } from '../chance.ts';
import { goDuration } from './rate-limit-responses.ts';
import type { Fault, SimulatedModel, Step } from './scenario.ts';

export class ModelState {
  readonly model: SimulatedModel;
  readonly #seed: number;
  #quota: QuotaCounter;
  #steps: Step[] = [];
  #calls = 0;
  #responded = new Map<string, number>();

  constructor(model: SimulatedModel, seed: number) {
    this.model = model;
    this.#seed = seed;
    this.#quota = new QuotaCounter(model.quotas);
    this.script(model.script);
  }

  get quota(): QuotaCounter {
    return this.#quota;
  }

  script(steps: readonly Step[]): void {
    this.#steps = steps.flatMap((step) => (step === 'ok' ? [step] : Array<Step>(step.times ?? 1).fill(step)));
  }

  reset(): void {
    this.#calls = 0;
    this.#responded = new Map();
    this.#quota = new QuotaCounter(this.model.quotas);
    this.script(this.model.script);
  }

  /** Counts the call and returns its fault, which depends on the seed and the number of the call alone. */
  begin(): { readonly number: number; readonly fault: Fault | undefined } {
    this.#calls += 1;
    const step = this.#steps.shift();
    if (step !== undefined) return { number: this.#calls, fault: step === 'ok' ? undefined : step };
    const chance = new Chance(this.#seed, textHash(this.model.name), this.#calls);
    // Every fault draws a random number, whether or not one before it has occurred: they stay independent.
    const hits = this.model.faults.filter(({ probability }) => chance.hits(probability));
    return { number: this.#calls, fault: hits[0] };
  }

  countResponse(status: number | 'none'): void {
    this.#responded.set(String(status), (this.#responded.get(String(status)) ?? 0) + 1);
  }

  stats(): { readonly calls: number; readonly responded: Readonly<Record<string, number>> } {
    const sorted = [...this.#responded].sort(([a], [b]) => (a < b ? -1 : 1));
    return { calls: this.#calls, responded: Object.fromEntries(sorted) };
  }
}

/* ---- quotas as a provider counts them: on arrival, per key, in sliding windows ---- */

interface Charge {
  readonly at: number;
  readonly tokens: number;
}

interface Rule {
  readonly unit: 'requests' | 'tokens';
  readonly spanMs: number;
  readonly limit: number;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;

const windows = [
  ['requests_per_minute', 'requests', minuteMs],
  ['requests_per_day', 'requests', dayMs],
  ['tokens_per_minute', 'tokens', minuteMs],
  ['tokens_per_day', 'tokens', dayMs],
] as const;

export class QuotaCounter {
  readonly #rules: readonly Rule[];
  readonly #charges = new Map<string, Charge[]>();

  constructor(quotas: SimulatedModel['quotas']) {
    this.#rules = windows.flatMap(([name, unit, spanMs]) => {
      const limit = quotas[name];
      return limit === undefined ? [] : [{ unit, spanMs, limit }];
    });
  }

  /** Seconds until a call is allowed; 0: now. */
  waitSeconds(key: string, now: number): number {
    return Math.max(
      0,
      ...this.#rules
        .map((rule) => this.#stateOf(rule, key, now))
        .map((state) => (state.left > 0 ? 0 : state.resetSeconds)),
    );
  }

  charge(key: string, tokens: number, now: number): void {
    if (this.#rules.length === 0) return;
    const charges = this.#charges.get(key) ?? [];
    this.#charges.set(key, charges);
    while (charges[0] && charges[0].at <= now - dayMs) charges.shift();
    charges.push({ at: now, tokens });
  }

  /** Rate-limit headers of OpenAI and compatible providers: the tightest window of requests and of tokens. */
  headers(key: string, now: number): Readonly<Record<string, string>> {
    const headers: Record<string, string> = {};
    for (const unit of ['requests', 'tokens'] as const) {
      const states = this.#rules
        .filter((rule) => rule.unit === unit)
        .map((rule) => ({ rule, ...this.#stateOf(rule, key, now) }))
        .sort((a, b) => a.left - b.left || b.resetSeconds - a.resetSeconds);
      const [tightest] = states;
      if (!tightest) continue;
      headers[`x-ratelimit-limit-${unit}`] = String(tightest.rule.limit);
      headers[`x-ratelimit-remaining-${unit}`] = String(Math.max(0, tightest.left));
      headers[`x-ratelimit-reset-${unit}`] = goDuration(tightest.resetSeconds);
    }
    return headers;
  }

  #stateOf({ unit, spanMs, limit }: Rule, key: string, now: number): { left: number; resetSeconds: number } {
    const counted = (this.#charges.get(key) ?? []).filter(({ at }) => at > now - spanMs);
    const cost = (charge: Charge) => (unit === 'requests' ? 1 : charge.tokens);
    let left = limit - counted.reduce((sum, charge) => sum + cost(charge), 0);
    const total = left;
    // A limit of 0 never has capacity.
    let resetSeconds = left > 0 ? 0 : spanMs / 1_000;
    for (const charge of counted) {
      if (left > 0) break;
      left += cost(charge);
      resetSeconds = (charge.at + spanMs - now) / 1_000;
    }
    return { left: total, resetSeconds };
  }
}
