// Quotas as a provider counts them: on arrival, per key, in sliding windows, and what its headers say of them.
import type { SimulatedModel } from './ports.ts';
import { goDuration } from './refusals.ts';

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

export class QuotaCounter {
  readonly #rules: readonly Rule[];
  readonly #charges = new Map<string, Charge[]>();

  constructor(quotas: SimulatedModel['quotas']) {
    const rule = (unit: Rule['unit'], spanMs: number, limit: number | undefined): Rule[] =>
      limit === undefined ? [] : [{ unit, spanMs, limit }];
    this.#rules = [
      ...rule('requests', minuteMs, quotas.requestsPerMinute),
      ...rule('requests', dayMs, quotas.requestsPerDay),
      ...rule('tokens', minuteMs, quotas.tokensPerMinute),
      ...rule('tokens', dayMs, quotas.tokensPerDay),
    ];
  }

  /** 0 when the call may come in; else the seconds until one may. */
  refusedFor(key: string, now: number): number {
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

  /** As OpenAI and those who follow it: the tightest window of requests and of tokens. */
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
    // A limit of nothing never frees anything.
    let resetSeconds = left > 0 ? 0 : spanMs / 1_000;
    for (const charge of counted) {
      if (left > 0) break;
      left += cost(charge);
      resetSeconds = (charge.at + spanMs - now) / 1_000;
    }
    return { left: total, resetSeconds };
  }
}
