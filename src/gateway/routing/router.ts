// Routes a request: selects candidates and tries them in rounds until one responds.
//
//   ┌► round: every candidate that is due has one try, in order; the first response ends the request
//   │    no response: sleep until the earliest of
//   │    ├─ another request tries one first, after its cooldown: a moment ────────────────────────────────────────────┐
//   │    ├─ some failed transiently and have attempts left: RETRY_DELAY, or later when the first of them is available ┤
//   │    ├─ some are cooling down, and the caller waits that long: when the first of them is available ───────────────┤
//   │    └─ none of these, or the sleep would reach the deadline → routing error                                      │
//   └─────────────────────────────────────────────────────────────────────────────────────────────────────────────────┘
//
// A model has at most 1 + MAX_RETRIES attempts per request, or two if the caller waits for it. `model-first` makes all of
// them, RETRY_DELAY apart, before the next model; the rest is the same.
import type { FailureClass } from '../errors.ts';
import { failureRules } from '../errors.ts';
import type { KeyLookup } from '../models/provider-keys.ts';
import { KeyRotation } from '../models/provider-keys.ts';
import type { ProviderClient } from '../providers/provider-client.ts';
import type { ProviderQuotas } from '../quotas/provider-quotas.ts';
import type { Cooldowns } from '../state/availability.ts';
import type { ScoreLookup } from '../state/scores.ts';
import type {
  AttemptTimeouts,
  CompletionOptions,
  CompletionRequest,
  CompletionResult,
  Model,
  ProviderCall,
  ProviderFailure,
  ProviderKey,
  ProviderOutcome,
} from '../types.ts';
import { routingError } from './routing-errors.ts';
import type { CandidateState } from './routed-request.ts';
import {
  attemptTimeouts,
  availabilityOf,
  hasAttemptsLeft,
  isDue,
  isShortenedTimeout,
  refreshCandidate,
  RoutedRequest,
  statusAfter,
} from './routed-request.ts';
import { selectCandidates } from './select-candidates.ts';
import type { Call, SettleDeps } from './settle-call.ts';
import { countFailure, recordFailedRequest, settleFailure, settleSuccess } from './settle-call.ts';

export interface RouterDeps extends SettleDeps {
  /** Fails when this caller may send no request now (GATEWAY_KEY_LIMIT_REACHED). Default: all may. */
  readonly admit?: (caller: string) => void | Promise<void>;
  readonly keys: KeyLookup;
  readonly cooldowns: Pick<Cooldowns, 'of' | 'extend' | 'trials'>;
  readonly scores: ScoreLookup;
  readonly quotas: Pick<ProviderQuotas, 'take'>;
  readonly provider: ProviderClient;
}

const idle = { inFlight: 0, lastCall: 0 };

/** Polling interval of a request that waits for the trial of another. */
const trialPollMs = 50;

export class Router {
  readonly #deps: RouterDeps;
  readonly #rotation = new KeyRotation();
  readonly #loads = new Map<number, { inFlight: number; lastCall: number }>();
  #calls = 0;
  #inFlight = 0;
  #queued = 0;

  constructor(deps: RouterDeps) {
    this.#deps = deps;
  }

  /** Requests without a response yet, and those of them that wait for a model. */
  load(): { readonly inFlight: number; readonly queued: number } {
    return { inFlight: this.#inFlight, queued: this.#queued };
  }

  /** Fails with a GatewayError, INPUT_INVALID, CANCELED or DEADLINE_EXCEEDED. */
  async complete(request: CompletionRequest, options: CompletionOptions): Promise<CompletionResult> {
    const { admit, clock, models, policy, ...snapshot } = this.#deps;
    let routed: RoutedRequest | undefined;
    let result: CompletionResult | undefined;
    try {
      const admitted = admit?.(options.caller);
      if (admitted) await admitted;
      const candidates = selectCandidates(request, options.allowFallback, {
        ...snapshot,
        policy,
        models: models(),
        load: { of: (modelId) => this.#loads.get(modelId) ?? idle },
      });
      routed = new RoutedRequest(request, options, candidates, clock);
      this.#inFlight++;
      result = await this.#runRounds(routed, options.maxRetries ?? policy.maxRetries);
      if (result) return result;
      throw routingError(this.#deps, routed);
    } catch (error) {
      routed?.end(false);
      recordFailedRequest(this.#deps, request, options, routed, error);
      throw error;
    } finally {
      if (routed) {
        this.#inFlight--;
        // The model that responded is counted at the end of its response.
        for (const { lastFailure, candidate } of routed.candidates)
          if (lastFailure && candidate.model !== result?.model)
            countFailure(this.#deps, candidate.model, lastFailure.failureClass);
      }
    }
  }

  /* ---- rounds ---- */

  /** Undefined when no model responded or time is up. Throws CANCELED. */
  async #runRounds(routed: RoutedRequest, maxRetries: number): Promise<CompletionResult | undefined> {
    const { clock, policy } = this.#deps;
    do {
      for (const [index, state] of routed.candidates.entries()) {
        if (!isDue(state, maxRetries, clock.now())) continue;
        if (routed.isExpired) break;
        routed.throwIfCanceled();
        const hasOthers = () => this.#hasAvailable(routed.candidates.slice(index + 1), maxRetries);
        const result =
          policy.retryOrder === 'rounds'
            ? await this.#tryModel(routed, state, hasOthers)
            : await this.#retryModel(routed, state, maxRetries, hasOthers);
        if (result) return result;
        routed.throwIfCanceled();
      }
    } while (await this.#sleep(routed, this.#pauseMs(routed, maxRetries)));
    return undefined;
  }

  /** All attempts of a model, one after the other. */
  async #retryModel(
    routed: RoutedRequest,
    state: CandidateState,
    maxRetries: number,
    hasOthers: () => boolean,
  ): Promise<CompletionResult | undefined> {
    for (;;) {
      const attemptsBefore = state.attempts;
      const result = await this.#tryModel(routed, state, hasOthers);
      if (result) return result;
      routed.throwIfCanceled();
      const canRetry = state.status === 'retryable' && hasAttemptsLeft(state, maxRetries);
      if (!canRetry || state.attempts === attemptsBefore) return undefined;
      if (!(await this.#sleep(routed, this.#deps.policy.retryDelayMs))) return undefined;
    }
  }

  async #sleep(routed: RoutedRequest, ms: number): Promise<boolean> {
    this.#queued++;
    try {
      return await routed.sleep(ms);
    } finally {
      this.#queued--;
    }
  }

  #hasAvailable(states: readonly CandidateState[], maxRetries: number): boolean {
    const { cooldowns, clock } = this.#deps;
    const now = clock.now();
    return states.some(
      (state) => isDue(state, maxRetries, now) && availabilityOf(state, cooldowns, now).at === null,
    );
  }

  /** Milliseconds until the next round; infinite when there is none. */
  #pauseMs(routed: RoutedRequest, maxRetries: number): number {
    const { clock, cooldowns, policy } = this.#deps;
    const now = clock.now();
    let retryAt = Number.POSITIVE_INFINITY;
    let availableAt = Number.POSITIVE_INFINITY;
    for (const state of routed.candidates) {
      if (state.status === 'excluded' || !hasAttemptsLeft(state, maxRetries)) continue;
      const { at } = availabilityOf(state, cooldowns, now);
      if (state.awaitsTrial && at === null) retryAt = Math.min(retryAt, now + trialPollMs);
      else if (state.status === 'retryable') {
        state.retryAt ??= now + policy.retryDelayMs;
        retryAt = Math.min(retryAt, Math.max(state.retryAt, at ?? 0));
      } else if (at !== null) availableAt = Math.min(availableAt, at);
      // It became available while others were tried. After a rate limit it gets a pause.
      else if (isDue(state, maxRetries, now))
        availableAt = Math.min(
          availableAt,
          state.status === 'rate-limited' ? now + policy.retryDelayMs : now,
        );
    }
    const retryMs = Math.max(0, retryAt - now);
    const waitMs = Math.max(1, availableAt - now);
    if (waitMs >= retryMs || waitMs > routed.waitLeftMs) return retryMs;
    routed.waitLeftMs -= waitMs;
    return waitMs;
  }

  /* ---- one try of one model ---- */

  /**
   * Chooses a key, takes quota, calls, settles. A key that is rejected (429, 401, 403, 402) or out of quota is followed
   * by the next key within the same try, each key at most once; anything else ends the try. Without a response `state`
   * has the reason. Counts as a try only if a call was made.
   */
  async #tryModel(
    routed: RoutedRequest,
    state: CandidateState,
    hasOthers: () => boolean,
  ): Promise<CompletionResult | undefined> {
    const { clock, cooldowns, policy, quotas } = this.#deps;
    const { trials } = cooldowns;
    const { request, options } = routed;
    refreshCandidate(state, request, this.#deps);
    if (state.status === 'excluded') return undefined;
    const { model, keys, baseUrl } = state.candidate;
    const triedKeys: string[] = [];
    let isCalled = false;
    state.retryAt = undefined;
    state.awaitsTrial = false;
    for (;;) {
      const isFree = ({ id }: ProviderKey) => !triedKeys.includes(id) && !this.#isBlocked(state, id);
      const isUsable = (key: ProviderKey) => isFree(key) && !trials.isRunning(model.id, key.id);
      const key = this.#rotation.pick(model.id, keys, isUsable);
      if (!key) {
        state.awaitsTrial = !isCalled && keys.some(isFree);
        break;
      }
      triedKeys.push(key.id);
      const endTrial = trials.begin(model.id, key.id);
      const decision = await quotas.take(model, key.id, request);
      if ('availableAt' in decision) {
        endTrial();
        (state.quotaBlockedUntil ??= new Map()).set(key.id, decision.availableAt);
        continue;
      }
      if (routed.isCanceledOrExpired) {
        endTrial();
        decision.grant.refund();
        return undefined;
      }
      const { grant } = decision;
      const startedAt = clock.monotonic();
      const number = ++routed.calls;
      const call: Call = { routed, state, model, key, grant, at: clock.now(), startedAt, number };
      if (!isCalled) state.attempts++;
      isCalled = true;
      const timeouts = attemptTimeouts(routed, model, policy, hasOthers);
      const { signal } = options;
      const outcome = await this.#call({ model, baseUrl, key, request, timeouts, signal }).finally(endTrial);
      if (outcome.kind !== 'failure') {
        const durationMs = clock.monotonic() - startedAt;
        trials.settle(model.id, key.id, 'success');
        routed.end(true);
        settleSuccess(this.#deps, call, outcome, durationMs);
        const isFallback = !state.candidate.isFirstChoice || routed.candidates[0] !== state;
        return { model, attempts: routed.calls, isFallback, durationMs, response: outcome };
      }
      const failure = this.#attributed(routed, model, outcome, timeouts);
      if (failure.failureClass !== 'canceled') trials.settle(model.id, key.id, failure.failureClass);
      settleFailure(this.#deps, call, failure);
      state.lastFailure = failure;
      state.status = statusAfter(failure.failureClass);
      if (routed.isCanceledOrExpired || !isKeyFailure(failure.failureClass)) return undefined;
    }
    if (!isCalled && !state.awaitsTrial && state.status === 'pending') state.status = 'blocked';
    return undefined;
  }

  /** Counts the calls in flight of each model: a stream until its end. */
  async #call(call: ProviderCall): Promise<ProviderOutcome> {
    const { id } = call.model;
    const load = this.#loads.get(id) ?? { ...idle };
    this.#loads.set(id, load);
    load.inFlight++;
    load.lastCall = ++this.#calls;
    let ended: Promise<unknown> | undefined;
    try {
      const outcome = await this.#deps.provider.call(call);
      if (outcome.kind === 'stream') ended = outcome.ended;
      return outcome;
    } finally {
      if (ended) void ended.then(() => load.inFlight--);
      else load.inFlight--;
    }
  }

  #isBlocked({ candidate, quotaBlockedUntil }: CandidateState, keyId: string): boolean {
    const { cooldowns, clock } = this.#deps;
    if (cooldowns.of(candidate.model.id, keyId) !== undefined) return true;
    return quotaBlockedUntil !== undefined && (quotaBlockedUntil.get(keyId) ?? 0) > clock.now();
  }

  /** What is not the model's failure: canceled, too little time left by the deadline, an endpoint that it need not have. */
  #attributed(
    routed: RoutedRequest,
    model: Model,
    failure: ProviderFailure,
    timeouts: AttemptTimeouts,
  ): ProviderFailure {
    const { failureClass, exceeded } = failure;
    const mayBeCanceled = failureClass === 'network' || failureClass === 'timeout';
    if (mayBeCanceled && routed.options.signal.aborted) return { ...failure, failureClass: 'canceled' };
    // Few servers with Anthropic's API count tokens: the model is there all the same.
    if (failureClass === 'not-found' && routed.request.operation === 'messages/count_tokens')
      return { ...failure, failureClass: 'validation' };
    const isShortened =
      exceeded !== undefined && isShortenedTimeout(exceeded, timeouts, routed, model, this.#deps.policy);
    return isShortened ? { ...failure, failureClass: 'deadline-too-short' } : failure;
  }
}

/** Another key of the same model may work. */
function isKeyFailure(failureClass: FailureClass): boolean {
  const { cools, cooldown } = failureRules[failureClass];
  return cools === 'key' && cooldown !== 0;
}
