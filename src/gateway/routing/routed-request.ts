// One request in progress: its deadline, the caller's signal, and the state of each candidate.
import type { Clock } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type { FailureClass } from '../errors.ts';
import { failureRules } from '../errors.ts';
import { endpointChanged } from '../models/model-definition.ts';
import type { GatewayOptions } from '../options.ts';
import type { Cooldowns } from '../state/availability.ts';
import type {
  Attempt,
  AttemptTimeouts,
  CompletionOptions,
  CompletionRequest,
  Model,
  ProviderFailure,
} from '../types.ts';
import type { Candidate, RoutingSnapshot } from './select-candidates.ts';
import { refreshedCandidate } from './select-candidates.ts';

/* ---- policy ---- */

export type RoutingPolicy = ReturnType<typeof routingPolicy>;

export const routingPolicy = (options: GatewayOptions) => ({
  /** Extra attempts per model and request. */
  maxRetries: options.maxRetries,
  retryDelayMs: options.retryDelaySeconds * 1_000,
  retryOrder: options.retryOrder,
  /** Cooldowns after 429s in a row without a retry hint. */
  rateLimitPausesMs: (options.rateLimitCooldownSteps.length > 0
    ? options.rateLimitCooldownSteps
    : [options.rateLimitDefaultCooldownSeconds]
  ).map((seconds) => seconds * 1_000),
  connectMs: options.connectTimeoutSeconds * 1_000,
  /** For streams; `responseMs` is the same for whole responses. */
  firstTokenMs: options.firstTokenTimeoutSeconds * 1_000,
  responseMs: options.responseTimeoutSeconds * 1_000,
  idleMs: options.idleTimeoutSeconds * 1_000,
  aliases: new Map(options.aliases.map(({ name, models }) => [name, models])),
  modelOrder: options.modelOrder,
});

/* ---- the request ---- */

/** Timers may fire early by this much; no model could respond in what is left then. */
const negligibleMs = 5;

/**
 * The deadline holds until a response is complete or a stream has started: a running stream is bounded by its idle
 * timeout and by its caller. It needs no timer: no attempt gets more time than is left, and no sleep starts that would
 * reach it.
 */
export class RoutedRequest {
  readonly request: CompletionRequest;
  readonly options: CompletionOptions;
  readonly candidates: readonly CandidateState[];
  /** Monotonic. */
  readonly startedAt: number;
  /** Calls made so far. */
  calls = 0;
  /** How much longer it may wait for a model that is cooling down. */
  waitLeftMs: number;
  /** There would have been another try with a later deadline. */
  hitDeadline = false;
  readonly #clock: Clock;
  readonly #endsAt: number;
  #atEnd: ((isCompleted: boolean) => void)[] | undefined = [];

  constructor(
    request: CompletionRequest,
    options: CompletionOptions,
    candidates: readonly Candidate[],
    clock: Clock,
  ) {
    this.request = request;
    this.options = options;
    this.candidates = candidates.map((candidate) => ({
      candidate,
      status: 'pending',
      attempts: 0,
      lastFailure: undefined,
      countedFailure: undefined,
      quotaBlockedUntil: undefined,
      retryAt: undefined,
      awaitsTrial: false,
    }));
    this.waitLeftMs = options.waitMs;
    this.#clock = clock;
    this.startedAt = clock.monotonic();
    this.#endsAt = this.startedAt + options.deadlineMs;
  }

  get isExpired(): boolean {
    return this.remainingMs() === 0;
  }

  /** The response would no longer reach the caller. */
  get isCanceledOrExpired(): boolean {
    return this.options.signal.aborted || this.isExpired;
  }

  remainingMs(): number {
    const leftMs = this.#endsAt - this.#clock.monotonic();
    return leftMs < negligibleMs ? 0 : leftMs;
  }

  /** Throws CANCELED once the caller has disconnected, and SHUTTING_DOWN when this server stops. */
  throwIfCanceled(): void {
    const { aborted, reason } = this.options.signal;
    if (!aborted) return;
    if (reason instanceof CoreError && reason.code === 'SHUTTING_DOWN') throw reason;
    throw new CoreError('CANCELED', 'The caller disconnected before a model had responded.', {
      cause: reason,
    });
  }

  /** Runs when it is known whether a model completes the request; at once after its end. */
  atEnd(run: (isCompleted: boolean) => void): void {
    if (this.#atEnd) this.#atEnd.push(run);
    else run(false);
  }

  /** A second time changes nothing. */
  end(isCompleted: boolean): void {
    const waiting = this.#atEnd ?? [];
    this.#atEnd = undefined;
    for (const run of waiting) run(isCompleted);
  }

  /** False, at once, when the sleep would reach the deadline. */
  async sleep(ms: number): Promise<boolean> {
    if (ms >= this.remainingMs()) {
      this.hitDeadline ||= Number.isFinite(ms);
      return false;
    }
    try {
      await this.#clock.sleep(ms, this.options.signal);
    } catch (error) {
      this.throwIfCanceled();
      throw error;
    }
    return true;
  }
}

/* ---- timeouts of one attempt ---- */

/**
 * While others can still be tried, an attempt gets at most half of the time left: a hanging model cannot use it all. When
 * none is left, it gets all of it, as there is nothing else to spend it on; but not, unless the caller has set the
 * deadline, if the model has a timeout of its own or others wait for a retry.
 */
export function attemptTimeouts(
  routed: RoutedRequest,
  model: Model,
  policy: RoutingPolicy,
  hasOthers: () => boolean,
): AttemptTimeouts {
  const leftMs = routed.remainingMs();
  const { isStream } = routed.request;
  const configured = configuredTimeouts(routed, model, policy);
  const isLimiting = leftMs / 2 < configured.firstTokenMs;
  const mayBeLengthened =
    routed.options.isDeadlineByCaller === true ||
    (!hasOwnTimeout(routed, model) && !hasRetries(routed, model, policy));
  const isLast = (isLimiting || mayBeLengthened) && !hasOthers();
  const shareMs = isLimiting && !isLast ? leftMs / 2 : leftMs;
  const isLengthened = isLast && mayBeLengthened;
  const firstTokenMs = isLengthened ? leftMs : Math.min(configured.firstTokenMs, shareMs);
  const idleMs = isLengthened ? leftMs : Math.min(configured.idleMs, firstTokenMs);
  return {
    connectMs: Math.min(configured.connectMs, shareMs),
    firstTokenMs,
    // A stream that has started may outlive the deadline.
    idleMs: isStream ? configured.idleMs : idleMs,
  };
}

const hasOwnTimeout = ({ request }: RoutedRequest, { timeouts }: Model): boolean =>
  (request.isStream ? timeouts.firstTokenSeconds : timeouts.responseSeconds) !== undefined;

/** Another model has failed transiently and has attempts left. */
function hasRetries({ candidates, options }: RoutedRequest, model: Model, policy: RoutingPolicy): boolean {
  const maxRetries = options.maxRetries ?? policy.maxRetries;
  for (const state of candidates)
    if (state.status === 'retryable' && state.candidate.model !== model && hasAttemptsLeft(state, maxRetries))
      return true;
  return false;
}

/** Less than half of the configured timeout was left by the caller's deadline: the timeout is not the model's fault. */
export function isShortenedTimeout(
  exceeded: keyof AttemptTimeouts,
  timeouts: AttemptTimeouts,
  routed: RoutedRequest,
  model: Model,
  policy: RoutingPolicy,
): boolean {
  return timeouts[exceeded] < configuredTimeouts(routed, model, policy)[exceeded] / 2;
}

/** The model's own, otherwise those of the gateway. */
function configuredTimeouts(
  { request }: RoutedRequest,
  { timeouts }: Model,
  policy: RoutingPolicy,
): AttemptTimeouts {
  const orPolicy = (seconds: number | undefined, policyMs: number) =>
    seconds === undefined ? policyMs : seconds * 1_000;
  return {
    connectMs: orPolicy(timeouts.connectSeconds, policy.connectMs),
    firstTokenMs: request.isStream
      ? orPolicy(timeouts.firstTokenSeconds, policy.firstTokenMs)
      : orPolicy(timeouts.responseSeconds, policy.responseMs),
    idleMs: orPolicy(timeouts.idleSeconds, policy.idleMs),
  };
}

/* ---- candidates ---- */

/**
 * - `pending`: not tried yet.
 * - `blocked`: none of its keys could be used; no call was made.
 * - `retryable`: its last try failed transiently; it is tried again in a later round.
 * - `rate-limited`: it is tried again in a round after its cooldown. A local model has no cooldown and is not.
 * - `excluded`: it failed for good, or was disabled, removed or replaced meanwhile; it is not tried again.
 */
export type CandidateStatus = 'pending' | 'blocked' | 'retryable' | 'rate-limited' | 'excluded';

export interface CandidateState {
  /** The candidate with its model as defined at its last try. */
  candidate: Candidate;
  status: CandidateStatus;
  /** Tries, not calls: a try that moves from a rejected key to the next is one. */
  attempts: number;
  /** Failure of its last attempt. */
  lastFailure?: ProviderFailure | undefined;
  /** The attempt of this request that counts against the model so far; the next one supersedes it. */
  countedFailure?: Attempt | undefined;
  /** Keys blocked by our count of the provider's quota, until when (epoch milliseconds). */
  quotaBlockedUntil?: Map<string, number> | undefined;
  /** Rounds before this time (epoch milliseconds) skip it; undefined until its round is over. */
  retryAt?: number | undefined;
  /** It was not called in this round because another request tries it first, after its cooldown. */
  awaitsTrial: boolean;
}

/** Before each try, as a request may take minutes: applies the current definition of the model, or excludes it. */
export function refreshCandidate(
  state: CandidateState,
  request: CompletionRequest,
  { models, keys }: { readonly models: () => RoutingSnapshot['models'] } & Pick<RoutingSnapshot, 'keys'>,
): void {
  const before = state.candidate;
  const current = models();
  if (current.includes(before.model)) return;
  const refreshed = refreshedCandidate(before, request, { models: current, keys });
  if (!refreshed) {
    state.status = 'excluded';
    return;
  }
  state.candidate = refreshed;
  if (!endpointChanged(before.model, refreshed.model)) return;
  // Failures of the old endpoint are irrelevant for the new one; the attempts stay counted.
  state.status = 'pending';
  state.lastFailure = undefined;
  state.countedFailure = undefined;
  state.quotaBlockedUntil = undefined;
}

export function statusAfter(failureClass: FailureClass): CandidateStatus {
  if (failureRules[failureClass].isRetried) return 'retryable';
  return failureClass === 'rate-limit' ? 'rate-limited' : 'excluded';
}

/** A rate-limited model has one more try even if MAX_RETRIES is 0: there is another round only if the caller waits. */
export function hasAttemptsLeft({ status, attempts }: CandidateState, maxRetries: number): boolean {
  return attempts <= (status === 'rate-limited' ? Math.max(1, maxRetries) : maxRetries);
}

/** Whether it may be tried in this round. Cooldowns are checked by the try itself. */
export function isDue(state: CandidateState, maxRetries: number, now: number): boolean {
  const { status, candidate, retryAt } = state;
  if (status === 'excluded' || !hasAttemptsLeft(state, maxRetries)) return false;
  if (status === 'rate-limited') return !candidate.model.isLocal;
  return status !== 'retryable' || retryAt === undefined || retryAt <= now;
}

export interface Availability {
  /** When the first of its keys is available, epoch milliseconds; null: now. */
  readonly at: number | null;
  /** A limit is the reason for at least one key. */
  readonly isLimited: boolean;
}

const availableNow: Availability = { at: null, isLimited: false };

export function availabilityOf(
  { candidate, quotaBlockedUntil }: CandidateState,
  cooldowns: Pick<Cooldowns, 'of'>,
  now: number,
): Availability {
  let first = Number.POSITIVE_INFINITY;
  let isLimited = false;
  for (const key of candidate.keys) {
    const cooldown = cooldowns.of(candidate.model.id, key.id);
    const blockedUntil = quotaBlockedUntil?.get(key.id) ?? 0;
    const until = Math.max(cooldown?.until ?? 0, blockedUntil);
    if (until <= now) return availableNow;
    first = Math.min(first, until);
    isLimited ||= blockedUntil > now || cooldown?.cause === 'rate-limit' || cooldown?.cause === 'quota';
  }
  return { at: first, isLimited };
}
