// The errors of requests to which no model responded.
import { CoreError } from '../../core/index.ts';
import type { FailureClass, GatewayErrorCode, TriedModel } from '../errors.ts';
import { failureRules, GatewayError } from '../errors.ts';
import type { Cooldowns } from '../state/availability.ts';
import type { Availability, CandidateState, CandidateStatus, RoutedRequest } from './routed-request.ts';
import { availabilityOf } from './routed-request.ts';
import type { SettleDeps } from './settle-call.ts';

export interface RoutingErrorDeps extends Pick<SettleDeps, 'clock' | 'events' | 'policy'> {
  readonly cooldowns: Pick<Cooldowns, 'of'>;
}

/** A message names at most this many models; `tried` has all. */
const maxNamed = 5;

interface Result {
  readonly state: CandidateState;
  readonly availability: Availability;
  readonly tried: TriedModel;
}

/**
 * GATEWAY_REQUEST_REJECTED when the request is at fault; GATEWAY_ALL_RATE_LIMITED when every candidate is at a limit;
 * otherwise GATEWAY_EXHAUSTED. DEADLINE_EXCEEDED only when time ran out before the first try.
 */
export function routingError(
  { clock, cooldowns, events, policy }: RoutingErrorDeps,
  routed: RoutedRequest,
): GatewayError | CoreError {
  const now = clock.now();
  const results = routed.candidates.map((state) => resultOf(state, availabilityOf(state, cooldowns, now)));
  if (results.every(({ tried }) => tried.outcome === 'not-tried'))
    return deadlineExceeded(routed.options.deadlineMs);

  const error =
    requestRejected(results) ??
    (areAllLimited(results)
      ? allRateLimited(results, now, policy.retryDelayMs)
      : exhausted(results, now, routed));
  events.emit('gateway:models-exhausted', {
    requestId: routed.options.requestId,
    code: error.code,
    tried: results.length,
  });
  return error;
}

function deadlineExceeded(deadlineMs: number): CoreError {
  return new CoreError(
    'DEADLINE_EXCEEDED',
    `The deadline of ${formatSeconds(deadlineMs)} was reached before a model could respond. Try again, or set a longer timeout.`,
    { isRetryable: true, details: { deadlineMs } },
  );
}

/** A deadline that was passed on is what is left of another one: its fractions are noise. */
const formatSeconds = (ms: number): string => `${Number((ms / 1_000).toPrecision(3))} s`;

function resultOf(state: CandidateState, availability: Availability): Result {
  const { model } = state.candidate;
  const outcome = state.lastFailure?.failureClass ?? outcomeWithoutCall(state.status);
  const tried: TriedModel = {
    model: model.name,
    provider: model.provider,
    outcome,
    attempts: state.attempts,
    status: state.lastFailure?.status ?? null,
    availableAt: outcome === 'unavailable' ? null : availability.at,
  };
  return { state, availability, tried };
}

function outcomeWithoutCall(status: CandidateStatus): TriedModel['outcome'] {
  if (status === 'pending') return 'not-tried';
  return status === 'excluded' ? 'unavailable' : 'cooling-down';
}

function isLimited({ tried, availability }: Result): boolean {
  return tried.outcome === 'rate-limit' || (tried.outcome === 'cooling-down' && availability.isLimited);
}

/** Models that were disabled or removed meanwhile are not worth waiting for. */
const isPresent = ({ tried }: Result): boolean => tried.outcome !== 'unavailable';

function areAllLimited(results: readonly Result[]): boolean {
  const present = results.filter(isPresent);
  return present.length > 0 && present.every(isLimited);
}

/** Failures of our key or our catalog, not of the request. */
const unrelatedToRequest: ReadonlySet<TriedModel['outcome']> = new Set<FailureClass>([
  'authentication',
  'payment',
  'not-found',
]);

/** Every model that evaluated the request rejects it: the first one's message is returned. */
function requestRejected(results: readonly Result[]): GatewayError | undefined {
  const failures = results
    .map(({ state }) => state.lastFailure)
    .filter((failure) => failure !== undefined)
    .filter(({ failureClass }) => !unrelatedToRequest.has(failureClass));
  const [first] = failures;
  if (!first || !failures.every(({ failureClass }) => failureRules[failureClass].isCallersFault))
    return undefined;
  const model = results.find(({ state }) => state.lastFailure === first)?.tried.model ?? 'The model';
  const reason = first.message === null ? `(${first.failureClass})` : `"${first.message}"`;
  const isClientError = first.status !== null && first.status >= 400 && first.status < 500;
  return gatewayError(
    'GATEWAY_REQUEST_REJECTED',
    `${model} rejects the request: ${reason}. Change it and send it again.`,
    results,
    {
      status: isClientError && first.status !== null ? first.status : 400,
      details: { failureClass: first.failureClass },
    },
  );
}

function allRateLimited(results: readonly Result[], now: number, defaultMs: number): GatewayError {
  const first = firstAvailable(results.map((result) => withLocalHint(result, now)));
  const retryAfterMs = first ? Math.max(0, first.at - now) : defaultMs;
  const when = first ? `The first, ${first.model}, is available` : 'Retry';
  return gatewayError(
    'GATEWAY_ALL_RATE_LIMITED',
    `Every suitable model is at a limit: ${describeResults(results, now)}. ${when} in ${Math.ceil(retryAfterMs / 1_000)} s.`,
    results,
    { isRetryable: true, retryAfterMs },
  );
}

function exhausted(results: readonly Result[], now: number, routed: RoutedRequest): GatewayError {
  const isNoneAvailable = results.filter(isPresent).every(({ availability }) => availability.at !== null);
  const first = isNoneAvailable ? firstAvailable(results.map(({ tried }) => tried)) : undefined;
  const { deadlineMs } = routed.options;
  const isTimeUp = routed.isExpired || routed.hitDeadline;
  const deadline = isTimeUp ? `${outOfTime(deadlineMs, routed.isExpired)} ` : '';
  // More time does not help when the network does not reach the model.
  const isUnreachable = results.every(
    ({ tried, state }) => tried.outcome === 'network' && state.lastFailure?.isInterrupted !== true,
  );
  const remedy = isUnreachable
    ? 'Check that it runs and that its base URL is correct, or try again later.'
    : isTimeUp
      ? 'Set a longer timeout, or try again later.'
      : 'Try again later, or add another model.';
  return gatewayError(
    'GATEWAY_EXHAUSTED',
    `No model completed the request: ${describeResults(results, now)}. ${deadline}${remedy}`,
    results,
    {
      isRetryable: true,
      ...(isTimeUp && { details: { deadlineMs } }),
      ...(first && { retryAfterMs: Math.max(0, first.at - now) }),
    },
  );
}

const outOfTime = (deadlineMs: number, isExpired: boolean): string =>
  `The deadline of ${formatSeconds(deadlineMs)} ${isExpired ? 'was reached' : 'leaves no time for another try'}.`;

/** A local model gets no cooldown; its retry hint is reported all the same. */
function withLocalHint({ tried, state }: Result, now: number): TriedModel {
  const hint = state.candidate.model.isLocal ? state.lastFailure?.retryHint : undefined;
  return tried.availableAt !== null || !hint ? tried : { ...tried, availableAt: now + hint.retryAfterMs };
}

interface FirstAvailable {
  readonly model: string;
  readonly at: number;
}

function firstAvailable(tried: readonly TriedModel[]): FirstAvailable | undefined {
  let first: FirstAvailable | undefined;
  for (const { model, availableAt } of tried)
    if (availableAt !== null && (!first || availableAt < first.at)) first = { model, at: availableAt };
  return first;
}

function describeResults(results: readonly Result[], now: number): string {
  const texts = results.slice(0, maxNamed).map(({ state, tried: { model, outcome, attempts, status } }) => {
    const times = attempts > 1 ? `, ${attempts} times` : '';
    return `${model} (${reasonOf(state, outcome, now)}${status === null ? '' : ` ${status}`}${times})`;
  });
  if (results.length > maxNamed) texts.push(`${results.length - maxNamed} more`);
  return texts.join(', ');
}

function reasonOf(state: CandidateState, outcome: TriedModel['outcome'], now: number): string {
  if (outcome === 'cooling-down' && isBlockedByQuota(state, now))
    return 'the rest of its quota is too small for this request';
  const isNetwork = outcome === 'network' || state.lastFailure?.exceeded === 'connectMs';
  if (!isNetwork) return outcome;
  const problem = state.lastFailure?.isInterrupted === true ? 'broke during the response' : 'failed';
  return `${outcome}: connection to ${new URL(state.candidate.baseUrl).host} ${problem}`;
}

/** A request larger than the rest of the quota is not sent, although the model is shown as available. */
function isBlockedByQuota({ quotaBlockedUntil }: CandidateState, now: number): boolean {
  return quotaBlockedUntil?.values().some((until) => until > now) ?? false;
}

function gatewayError(
  code: GatewayErrorCode,
  message: string,
  results: readonly Result[],
  options: ConstructorParameters<typeof GatewayError>[2],
): GatewayError {
  return new GatewayError(code, message, { ...options, tried: results.map(({ tried }) => tried) });
}
