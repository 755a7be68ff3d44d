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
import { onAbort } from '../../core/index.ts';
import { failureRules } from '../errors.ts';
import type { KeyLookup } from '../models/provider-keys.ts';
import { KeyRotation } from '../models/provider-keys.ts';
import type { ProviderClient } from '../providers/provider-client.ts';
import type { ProviderQuotas, QuotaGrant } from '../quotas/provider-quotas.ts';
import type { Cooldowns } from '../state/availability.ts';
import type { ScoreLookup } from '../state/scores.ts';
import type {
  AttemptTimeouts,
  CompletionOptions,
  CompletionRequest,
  CompletionResult,
  Model,
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
import type { ModelLoad } from './select-candidates.ts';
import { selectCandidates } from './select-candidates.ts';
import type { Call, SettleDeps } from './settle-call.ts';
import { countFailure, recordFailedRequest, settleFailure, settleSuccess } from './settle-call.ts';

export interface RouterDeps extends SettleDeps {
  /** Fails when the caller may not send this request now (GATEWAY_KEY_LIMIT_REACHED). Default: all may. */
  readonly admit?: (request: CompletionRequest, options: CompletionOptions) => void | Promise<void>;
  readonly keys: KeyLookup;
  readonly cooldowns: Pick<Cooldowns, 'of' | 'extend' | 'trials'>;
  readonly scores: ScoreLookup;
  readonly quotas: Pick<ProviderQuotas, 'take'> & Partial<Pick<ProviderQuotas, 'takeUnlimited'>>;
  readonly provider: Pick<ProviderClient, 'call'> & Partial<ProviderClient>;
}

/** The result, or a promise of it. */
export type OnResult = (result: CompletionResult | Promise<CompletionResult>) => void;

const idle = { inFlight: 0, lastCall: 0 };

/** Polling interval of a request that waits for the trial of another. */
const trialPollMs = 50;

export class Router {
  readonly #deps: RouterDeps;
  readonly #rotation = new KeyRotation();
  readonly #loads = new Map<number, { inFlight: number; lastCall: number }>();
  readonly #modelLoad: ModelLoad = { of: (modelId) => this.#loads.get(modelId) ?? idle };
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
  complete(request: CompletionRequest, options: CompletionOptions): Promise<CompletionResult> {
    return new Promise((resolve) => {
      let removeListener: (() => void) | undefined;
      const onResult: OnResult = (result) => {
        removeListener?.();
        resolve(result);
      };
      const cancel = this.#begin(request, options, onResult, !options.signal.aborted);
      if (cancel) removeListener = onAbort(options.signal, cancel);
    });
  }

  /**
   * `complete` with a callback. A usual first call is made without promises, and without a look at `options.signal`: the
   * returned function cancels it. Everything else, and what follows a failure, is a promise.
   */
  start(
    request: CompletionRequest,
    options: CompletionOptions,
    onResult: OnResult,
  ): (() => void) | undefined {
    return this.#begin(request, options, onResult, true);
  }

  #begin(
    request: CompletionRequest,
    options: CompletionOptions,
    onResult: OnResult,
    canSend: boolean,
  ): (() => void) | undefined {
    try {
      const admitted = this.#deps.admit?.(request, options);
      if (admitted) {
        onResult(this.#completeAdmitted(request, options, admitted));
        return undefined;
      }
      const routed = this.#select(request, options);
      const first = canSend ? this.#usualCall(routed) : undefined;
      if (first) return this.#sendFirst(routed, first, onResult);
      onResult(this.#run(routed));
    } catch (error) {
      recordFailedRequest(this.#deps, request, options, undefined, error);
      onResult(Promise.reject(error));
    }
    return undefined;
  }

  async #completeAdmitted(
    request: CompletionRequest,
    options: CompletionOptions,
    admitted: Promise<void>,
  ): Promise<CompletionResult> {
    let routed: RoutedRequest;
    try {
      await admitted;
      routed = this.#select(request, options);
    } catch (error) {
      recordFailedRequest(this.#deps, request, options, undefined, error);
      throw error;
    }
    return this.#run(routed);
  }

  #select(request: CompletionRequest, options: CompletionOptions): RoutedRequest {
    const { clock, models, keys, cooldowns, scores, backoff, policy } = this.#deps;
    const candidates = selectCandidates(request, options.allowFallback, {
      models: models(),
      keys,
      cooldowns,
      scores,
      backoff,
      policy,
      load: this.#modelLoad,
    });
    return new RoutedRequest(request, options, candidates, clock);
  }

  /** `failed`: the first call, which was made before. */
  async #run(routed: RoutedRequest, failed?: Call): Promise<CompletionResult> {
    const { options, request } = routed;
    let result: CompletionResult | undefined;
    this.#inFlight++;
    try {
      result = await this.#runRounds(routed, options.maxRetries ?? this.#deps.policy.maxRetries, failed);
      if (result) return result;
      throw routingError(this.#deps, routed);
    } catch (error) {
      routed.end(false);
      recordFailedRequest(this.#deps, request, options, routed, error);
      throw error;
    } finally {
      this.#inFlight--;
      // The model that responded is counted at the end of its response.
      for (const { lastFailure, candidate } of routed.candidates)
        if (lastFailure && candidate.model !== result?.model)
          countFailure(this.#deps, candidate.model, lastFailure.failureClass);
    }
  }

  /* ---- a usual first call ---- */

  /** Undefined unless the first candidate can be called now, without waiting and without limits to keep. */
  #usualCall(routed: RoutedRequest): Call | undefined {
    const { provider, quotas, cooldowns, policy, trace } = this.#deps;
    const [state] = routed.candidates;
    // Spans of attempts need the async context of their request.
    if (!state || trace || policy.retryOrder !== 'rounds' || routed.isExpired) return undefined;
    const { model, keys } = state.candidate;
    const { api } = routed.request;
    const isTranslated = api === null || !model.apis.includes(api);
    if (isTranslated || provider.canSend?.(routed.request) !== true) return undefined;
    const grant = quotas.takeUnlimited?.(model);
    if (!grant || keys.some(({ id }) => cooldowns.trials.isDue(model.id, id))) return undefined;
    const key = this.#rotation.pick(model.id, keys, ({ id }) => !this.#isBlocked(state, id));
    return key && this.#beginCall(routed, state, key, grant, true);
  }

  #sendFirst(routed: RoutedRequest, call: Call, onResult: OnResult): (() => void) | undefined {
    const { state, model, key } = call;
    const { policy } = this.#deps;
    const { maxRetries = policy.maxRetries } = routed.options;
    const hasOthers = () => this.#hasAvailable(routed.candidates.slice(1), maxRetries);
    const timeouts = attemptTimeouts(routed, model, policy, hasOthers);
    const { baseUrl } = state.candidate;
    const load = this.#beginLoad(model);
    const send = this.#deps.provider.send as ProviderClient['send'];
    this.#inFlight++;
    return send({ model, baseUrl, key, request: routed.request, timeouts }, (outcome) => {
      this.#inFlight--;
      load.inFlight--;
      onResult(this.#settle(call, outcome, timeouts) ?? this.#run(routed, call));
    });
  }

  /* ---- rounds ---- */

  /** Undefined when no model responded or time is up. Throws CANCELED. */
  async #runRounds(
    routed: RoutedRequest,
    maxRetries: number,
    failed?: Call,
  ): Promise<CompletionResult | undefined> {
    const { clock, policy } = this.#deps;
    let begun = failed;
    do {
      for (const [index, state] of routed.candidates.entries()) {
        if (!begun && !isDue(state, maxRetries, clock.now())) continue;
        if (routed.isExpired) break;
        routed.throwIfCanceled();
        const hasOthers = () => this.#hasAvailable(routed.candidates.slice(index + 1), maxRetries);
        const result =
          policy.retryOrder === 'rounds'
            ? await this.#tryModel(routed, state, hasOthers, begun)
            : await this.#retryModel(routed, state, maxRetries, hasOthers);
        begun = undefined;
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
    if (states.length === 0) return false;
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
    failed?: Call,
  ): Promise<CompletionResult | undefined> {
    const { cooldowns, policy, quotas, provider } = this.#deps;
    const { trials } = cooldowns;
    const { request, options } = routed;
    if (!failed) refreshCandidate(state, request, this.#deps);
    if (failed ? !canTryNextKey(routed, state) : state.status === 'excluded') return undefined;
    const { model, keys, baseUrl } = state.candidate;
    const triedKeys: string[] = failed ? [failed.key.id] : [];
    let isCalled = failed !== undefined;
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
      const call = this.#beginCall(routed, state, key, decision.grant, !isCalled);
      isCalled = true;
      const timeouts = attemptTimeouts(routed, model, policy, hasOthers);
      const { signal } = options;
      const load = this.#beginLoad(model);
      let ended: Promise<unknown> | undefined;
      let outcome: ProviderOutcome;
      try {
        outcome = await provider.call({ model, baseUrl, key, request, timeouts, signal });
        if (outcome.kind === 'stream') ended = outcome.ended;
      } finally {
        endTrial();
        // A stream is in flight until its end.
        if (ended) void ended.then(() => load.inFlight--);
        else load.inFlight--;
      }
      const result = this.#settle(call, outcome, timeouts);
      if (result) return result;
      if (!canTryNextKey(routed, state)) return undefined;
    }
    if (!isCalled && !state.awaitsTrial && state.status === 'pending') state.status = 'blocked';
    return undefined;
  }

  #beginCall(
    routed: RoutedRequest,
    state: CandidateState,
    key: ProviderKey,
    grant: QuotaGrant,
    isFirstOfTry: boolean,
  ): Call {
    const { clock } = this.#deps;
    if (isFirstOfTry) state.attempts++;
    const { model } = state.candidate;
    const number = ++routed.calls;
    return { routed, state, model, key, grant, at: clock.now(), startedAt: clock.monotonic(), number };
  }

  /** The consequences of a call. Undefined after a failure, which `state` has then. */
  #settle(call: Call, outcome: ProviderOutcome, timeouts: AttemptTimeouts): CompletionResult | undefined {
    const { clock, cooldowns } = this.#deps;
    const { routed, state, model, key } = call;
    if (outcome.kind !== 'failure') {
      const durationMs = clock.monotonic() - call.startedAt;
      cooldowns.trials.settle(model.id, key.id, 'success');
      routed.end(true);
      settleSuccess(this.#deps, call, outcome, durationMs);
      const isFallback = !state.candidate.isFirstChoice || routed.candidates[0] !== state;
      return { model, attempts: routed.calls, isFallback, durationMs, response: outcome };
    }
    const failure = this.#attributed(routed, model, outcome, timeouts);
    if (failure.failureClass !== 'canceled') cooldowns.trials.settle(model.id, key.id, failure.failureClass);
    settleFailure(this.#deps, call, failure);
    state.lastFailure = failure;
    state.status = statusAfter(failure.failureClass);
    return undefined;
  }

  /** Counts the calls in flight of a model. */
  #beginLoad({ id }: Model): { inFlight: number } {
    const load = this.#loads.get(id) ?? { ...idle };
    this.#loads.set(id, load);
    load.inFlight++;
    load.lastCall = ++this.#calls;
    return load;
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

/** After a failure: another key of the same model may work. */
function canTryNextKey(routed: RoutedRequest, { lastFailure }: CandidateState): boolean {
  if (!lastFailure || routed.isCanceledOrExpired) return false;
  const { cools, cooldown } = failureRules[lastFailure.failureClass];
  return cools === 'key' && cooldown !== 0;
}
