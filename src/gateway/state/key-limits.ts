// Limits of gateway keys, checked before any model is called.
import type { Clock } from '../../core/index.ts';
import { toSnakeCase } from '../../core/index.ts';
import { GatewayError } from '../errors.ts';
import type { QuotaWindow } from '../quotas/quota-counter.ts';
import type { TieredCounter } from '../quotas/tiered-counter.ts';
import type { CompletionOptions, CompletionRequest, GatewayKey, KeyLimits, Price } from '../types.ts';
import type { GatewayKeys, UsedToday, UsageTracker } from './gateway-keys.ts';

export interface KeyLimiterDeps {
  readonly clock: Clock;
  readonly keys: Pick<GatewayKeys, 'byId'>;
  readonly usage: Pick<UsageTracker, 'usedToday'>;
  readonly counter: Pick<TieredCounter, 'count'>;
  /** Of the models that may serve the request, as far as they are known. */
  readonly pricesFor: (request: LimitedRequest) => readonly Price[];
}

/** What the limiter reads of a request. */
type LimitedRequest = Pick<
  CompletionRequest,
  'model' | 'operation' | 'estimatedTokens' | 'estimatedPromptTokens'
>;

/**
 * The share of a limit per day that is reserved at most for the completion of one request. Many callers send the largest
 * possible `max_tokens` and use a hundredth of it.
 */
const completionShare = 0.1;
/** When to retry a request for which others in flight left nothing. */
const inFlightRetryMs = 1_000;

const dayMs = 86_400_000;

/** Buckets of half a second: at most `limit` in any 60 s; a request may have to wait for half a second more. */
const minuteWindow = (limit: number): QuotaWindow => ({
  name: 'requestsPerMinute',
  unit: 'requests',
  limit,
  bucketMs: 500,
  buckets: 120,
});

const one = [1];

export class KeyLimiter {
  readonly #deps: KeyLimiterDeps;
  /** What requests in flight may use, by request id, and the sums by caller. */
  readonly #reservations = new Map<string, Reservation>();
  readonly #inFlight = new Map<string, InFlight>();

  constructor(deps: KeyLimiterDeps) {
    this.#deps = deps;
  }

  /**
   * Counts the request, or fails with GATEWAY_KEY_LIMIT_REACHED. Callers that are no keys have no limits. What it may use
   * of a limit per day is reserved until `release`. Waits only where requests are counted by all processes together.
   */
  admit(
    request: LimitedRequest,
    { caller, requestId }: Pick<CompletionOptions, 'caller' | 'requestId'>,
  ): void | Promise<void> {
    const key = caller.startsWith('key:') ? this.#deps.keys.byId(caller.slice(4)) : undefined;
    if (!key) return undefined;
    if (key.tokensPerDay !== null || key.usdPerDay !== null) this.#reserve(key, caller, requestId, request);
    return key.requestsPerMinute === null ? undefined : this.#countMinute(key, key.requestsPerMinute);
  }

  /** The request has ended: what it used is known. Changes nothing for one without a reservation. */
  release(requestId: string): void {
    const reservation = this.#reservations.get(requestId);
    if (!reservation) return;
    this.#reservations.delete(requestId);
    const { caller, inFlight, tokens, usd } = reservation;
    inFlight.requests -= 1;
    inFlight.tokens -= tokens;
    inFlight.usd -= usd;
    // Sums of dollars do not return to exactly 0.
    if (inFlight.requests === 0 && this.#inFlight.get(caller) === inFlight) this.#inFlight.delete(caller);
  }

  #reserve(key: GatewayKey, caller: string, requestId: string, request: LimitedRequest): void {
    const { usage, pricesFor } = this.#deps;
    const used = usage.usedToday(caller);
    const inFlight = this.#inFlightOf(caller);
    this.#check(key, 'tokensPerDay', key.tokensPerDay, used.tokens, inFlight.tokens);
    this.#check(key, 'usdPerDay', key.usdPerDay, used.usd, inFlight.usd);
    // Counting tokens costs none, and its end is not recorded.
    if (request.operation === 'messages/count_tokens') return;
    const tokens = key.tokensPerDay === null ? 0 : tokensOf(request, key.tokensPerDay);
    const usd = key.usdPerDay === null ? 0 : costOf(request, key.usdPerDay, pricesFor(request));
    this.#reservations.set(requestId, { caller, inFlight, tokens, usd });
    inFlight.requests += 1;
    inFlight.tokens += tokens;
    inFlight.usd += usd;
    this.#inFlight.set(caller, inFlight);
  }

  /** Usage counts for the day on which a request starts, and so does what it may use. */
  #inFlightOf(caller: string): InFlight {
    const day = Math.floor(this.#deps.clock.now() / dayMs);
    const known = this.#inFlight.get(caller);
    return known?.day === day ? known : { day, requests: 0, tokens: 0, usd: 0 };
  }

  /** A request that is larger than what is left is admitted if no other one is in flight. */
  #check(
    key: GatewayKey,
    limit: 'tokensPerDay' | 'usdPerDay',
    value: number | null,
    used: number,
    reserved: number,
  ): void {
    if (value === null || used + reserved < value) return;
    const resetMs = dayMs - (this.#deps.clock.now() % dayMs);
    if (used >= value) throw this.#limitReached(key, limit, value, used, resetMs);
    throw new GatewayError('GATEWAY_KEY_LIMIT_REACHED', inFlightMessage(key.name, limit, value), {
      isRetryable: true,
      retryAfterMs: inFlightRetryMs,
      details: { limit: toSnakeCase(limit), value, used, reserved },
    });
  }

  #countMinute(key: GatewayKey, limit: number): void | Promise<void> {
    const counted = this.#deps.counter.count(`key:${key.id}`, [minuteWindow(limit)], one);
    const check = ({ waitMs }: { readonly waitMs: number }) => {
      if (waitMs > 0) throw this.#limitReached(key, 'requestsPerMinute', limit, limit, waitMs);
    };
    return counted instanceof Promise ? counted.then(check) : check(counted);
  }

  #limitReached(
    { name }: GatewayKey,
    limit: keyof KeyLimits,
    value: number,
    used: number,
    resetMs: number,
  ): GatewayError {
    const resetsAt = new Date(this.#deps.clock.now() + resetMs).toISOString();
    return new GatewayError('GATEWAY_KEY_LIMIT_REACHED', messageOf[limit](name, value, resetMs), {
      isRetryable: true,
      retryAfterMs: resetMs,
      // The name of the field in the API.
      details: { limit: toSnakeCase(limit), value, used, resetsAt },
    });
  }
}

interface InFlight {
  readonly day: number;
  requests: number;
  tokens: number;
  usd: number;
}

interface Reservation extends UsedToday {
  readonly caller: string;
  readonly inFlight: InFlight;
}

/** The whole prompt, and of the completion no more than its share. */
const tokensOf = (
  { estimatedPromptTokens: prompt, estimatedTokens }: LimitedRequest,
  limit: number,
): number => prompt + Math.min(estimatedTokens - prompt, limit * completionShare);

/** The same at the highest price. */
function costOf(
  { estimatedPromptTokens: prompt, estimatedTokens }: LimitedRequest,
  limit: number,
  prices: readonly Price[],
): number {
  let ofPrompt = 0;
  let ofCompletion = 0;
  for (const { inputPerMillion, outputPerMillion } of prices) {
    ofPrompt = Math.max(ofPrompt, (prompt * inputPerMillion) / 1_000_000);
    ofCompletion = Math.max(ofCompletion, ((estimatedTokens - prompt) * outputPerMillion) / 1_000_000);
  }
  return ofPrompt + Math.min(ofCompletion, limit * completionShare);
}

const inFlightMessage = (key: string, limit: 'tokensPerDay' | 'usdPerDay', value: number): string =>
  `The requests in flight of the key "${key}" may use the rest of its ${value} ${limit === 'usdPerDay' ? 'US dollars' : 'tokens'} per day; send this one again when they have ended.`;

const messageOf: Readonly<Record<keyof KeyLimits, (key: string, value: number, resetMs: number) => string>> =
  {
    requestsPerMinute: (key, value, resetMs) =>
      `The key "${key}" has sent its ${value} requests per minute; the next one is accepted in ${Math.ceil(resetMs / 1_000)} s.`,
    tokensPerDay: (key, value) =>
      `The key "${key}" has used its ${value} tokens per day; it works again after midnight UTC.`,
    usdPerDay: (key, value) =>
      `The key "${key}" has used its ${value} US dollars per day; it works again after midnight UTC.`,
  };
