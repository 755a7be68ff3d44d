// Nobody answered: what the caller is told.
import type { CoreError } from '../../core/index.ts';
import type { GatewayErrorCode, TriedModel } from '../errors.ts';
import { GatewayError } from '../errors.ts';
import type { FailureClass } from '../failure-classes.ts';
import { failureRules } from '../failure-classes.ts';
import type { RouterDeps } from './parts.ts';
import type { Run } from './run.ts';
import { deadlineExceeded, secondsText } from './run.ts';
import type { Availability, CandidateState, CandidateStatus } from './standing.ts';
import { availabilityOf } from './standing.ts';

/** A message names at most so many models; `tried` has all. */
const mostNamed = 5;

interface Judged {
  readonly standing: CandidateState;
  readonly availability: Availability;
  readonly tried: TriedModel;
}

/**
 * GATEWAY_REQUEST_REJECTED when it is the request that is at fault; GATEWAY_ALL_RATE_LIMITED when every candidate is at a limit;
 * else GATEWAY_EXHAUSTED. DEADLINE_EXCEEDED only when time was up before anybody's turn.
 */
export function verdict(
  { clock, cooldowns, events, policy }: Pick<RouterDeps, 'clock' | 'cooldowns' | 'events' | 'policy'>,
  run: Run,
): GatewayError | CoreError {
  const now = clock.now();
  const judged = run.candidateStates.map((standing) =>
    judge(standing, availabilityOf(standing, cooldowns, now)),
  );
  if (judged.every(({ tried }) => tried.outcome === 'unasked'))
    return deadlineExceeded(run.request.deadlineMs);

  const error =
    refused(judged) ??
    (areAllAtLimit(judged) ? allLimited(judged, now, policy.retryDelayMs) : exhausted(judged, now, run));
  events.emit('gateway:models-exhausted', {
    requestId: run.request.requestId,
    code: error.code,
    tried: judged.length,
  });
  return error;
}

function judge(standing: CandidateState, availability: Availability): Judged {
  const { model } = standing.candidate;
  const outcome = standing.failure?.failureClass ?? outcomeWithoutCall(standing.state);
  const tried: TriedModel = {
    model: model.name,
    provider: model.provider,
    outcome,
    tries: standing.tries,
    status: standing.failure?.status ?? null,
    availableAt: outcome === 'gone' ? null : availability.at,
  };
  return { standing, availability, tried };
}

function outcomeWithoutCall(state: CandidateStatus): TriedModel['outcome'] {
  if (state === 'unasked') return 'unasked';
  return state === 'out' ? 'gone' : 'cooling';
}

function isAtLimit({ tried, availability }: Judged): boolean {
  return tried.outcome === 'rate-limit' || (tried.outcome === 'cooling' && availability.isLimited);
}

/** Nobody waits for one that is gone. */
const isThere = ({ tried }: Judged): boolean => tried.outcome !== 'gone';

function areAllAtLimit(judged: readonly Judged[]): boolean {
  const left = judged.filter(isThere);
  return left.length > 0 && left.every(isAtLimit);
}

/** These speak of our key or our catalogue, not of the request. */
const besideThePoint: ReadonlySet<TriedModel['outcome']> = new Set<FailureClass>([
  'authentication',
  'payment',
  'not-found',
]);

/** Every model that looked at the request says that it is at fault: the first one's word counts. */
function refused(judged: readonly Judged[]): GatewayError | undefined {
  const failures = judged.map(({ standing }) => standing.failure).filter((failure) => failure !== undefined);
  const words = failures.filter(({ failureClass }) => !besideThePoint.has(failureClass));
  const [first] = words;
  if (!first || !words.every(({ failureClass }) => failureRules[failureClass].isCallersFault))
    return undefined;
  const who = judged.find(({ standing }) => standing.failure === first)?.tried.model ?? 'The model';
  const reason = first.message === null ? `(${first.failureClass})` : `"${first.message}"`;
  const isClientStatus = first.status !== null && first.status >= 400 && first.status < 500;
  return gatewayError(
    'GATEWAY_REQUEST_REJECTED',
    `${who} refuses the request: ${reason}. Change it and ask again.`,
    judged,
    {
      status: isClientStatus && first.status !== null ? first.status : 400,
      details: { failureClass: first.failureClass },
    },
  );
}

function allLimited(judged: readonly Judged[], now: number, otherwiseMs: number): GatewayError {
  const soonest = soonestOf(judged.map((each) => asItSaid(each, now)));
  const retryAfterMs = soonest ? Math.max(0, soonest.at - now) : otherwiseMs;
  const who = soonest ? `The soonest, ${soonest.model}, is free` : 'Come back';
  return gatewayError(
    'GATEWAY_ALL_RATE_LIMITED',
    `Every model that could answer is at a limit: ${named(judged, now)}. ${who} in ${Math.ceil(retryAfterMs / 1_000)} s.`,
    judged,
    { isRetryable: true, retryAfterMs },
  );
}

function exhausted(judged: readonly Judged[], now: number, run: Run): GatewayError {
  const isNobodyFree = judged.filter(isThere).every(({ availability }) => availability.at !== null);
  const soonest = isNobodyFree ? soonestOf(judged.map(({ tried }) => tried)) : undefined;
  const { deadlineMs } = run.request;
  const isTimeUp = run.isOver || run.hitDeadline;
  const isUnreachable = judged.every(({ tried }) => tried.outcome === 'network');
  const advice = isTimeUp
    ? outOfTime(deadlineMs, run.isOver, isUnreachable)
    : 'Try again later, or add another model.';
  return gatewayError(
    'GATEWAY_EXHAUSTED',
    `No model could answer: ${named(judged, now)}. ${advice}`,
    judged,
    {
      isRetryable: true,
      ...(isTimeUp && { details: { deadlineMs } }),
      ...(soonest && { retryAfterMs: Math.max(0, soonest.at - now) }),
    },
  );
}

function outOfTime(deadlineMs: number, isOver: boolean, isUnreachable: boolean): string {
  const what = `The ${secondsText(deadlineMs)} of this request`;
  // More time helps nobody whom the network does not reach.
  const remedy = isUnreachable
    ? 'Nobody can be reached there: see whether it runs and the address is right, or try again later.'
    : 'Give it more time, or try again later.';
  return `${what} ${isOver ? 'ran out' : 'leave no time for another try'}. ${remedy}`;
}

/** A local model does not cool; what it said is told all the same. */
function asItSaid({ tried, standing }: Judged, now: number): TriedModel {
  const hint = standing.candidate.model.isLocal ? standing.failure?.hint : undefined;
  return tried.availableAt !== null || !hint ? tried : { ...tried, availableAt: now + hint.retryAfterMs };
}

function soonestOf(
  tried: readonly TriedModel[],
): { readonly model: string; readonly at: number } | undefined {
  let soonest: { readonly model: string; readonly at: number } | undefined;
  for (const { model, availableAt } of tried)
    if (availableAt !== null && (!soonest || availableAt < soonest.at)) soonest = { model, at: availableAt };
  return soonest;
}

function named(judged: readonly Judged[], now: number): string {
  const words = judged.slice(0, mostNamed).map(({ standing, tried: { model, outcome, tries, status } }) => {
    const times = tries > 1 ? `, ${tries} times` : '';
    const why = outcome === 'cooling' && isHeldByQuota(standing, now) ? tooLittleQuota : outcome;
    return `${model} (${why}${status === null ? '' : ` ${status}`}${times})`;
  });
  if (judged.length > mostNamed) words.push(`${judged.length - mostNamed} more`);
  return words.join(', ');
}

const tooLittleQuota = 'its quota has too little left for this request';

/** A request that is too large for what is left is passed over though the model is shown as free. */
function isHeldByQuota({ held }: CandidateState, now: number): boolean {
  return held?.values().some((until) => until > now) ?? false;
}

function gatewayError(
  code: GatewayErrorCode,
  message: string,
  judged: readonly Judged[],
  options: ConstructorParameters<typeof GatewayError>[2],
): GatewayError {
  return new GatewayError(code, message, { ...options, tried: judged.map(({ tried }) => tried) });
}
