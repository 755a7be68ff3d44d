// One try of one model: choose a key, take from its quota, call, and draw the consequences.
//
// A key that is refused (429, 401, 403, 402), or whose quota we have used up, gives way to the model's next key at
// once, within the same try; each key is asked at most once a try. Anything else ends the try.
import type { FailureClass } from '../failure-classes.ts';
import { failureRules, isTransientModelFault } from '../failure-classes.ts';
import type {
  AttemptTimeouts,
  ProviderResponse,
  ProviderFailure,
  ProviderKey,
  ProviderStream,
  QuotaGrant,
  CompletionResult,
} from '../ports.ts';
import { attemptTimeouts, hitDeadline } from './attempt-limits.ts';
import type { Call } from './consequences.ts';
import { coolDown, coolDownEmptyKey, isOutdated, recordCall, recordFailure } from './consequences.ts';
import type { KeyRotation } from './key-rotation.ts';
import type { RouterDeps } from './parts.ts';
import { refreshCandidate } from './renew-standing.ts';
import type { Run } from './run.ts';
import type { CandidateState } from './standing.ts';
import { stateAfter } from './standing.ts';

export interface Engine extends RouterDeps {
  readonly rotation: KeyRotation;
  readonly load: { unanswered: number; waiting: number };
}

/** What was said, or nothing; then `standing` tells why. Counts as a try only if a call was made. */
export async function tryModel(
  engine: Engine,
  run: Run,
  standing: CandidateState,
  othersWait: () => boolean,
): Promise<CompletionResult | undefined> {
  refreshCandidate(standing, run.request.ask, engine);
  if (standing.state === 'out') return undefined;
  const { model, keys, baseUrl } = standing.candidate;
  const passed: string[] = [];
  let isAsked = false;
  standing.retryAt = undefined;
  for (;;) {
    const isUsable = ({ id }: ProviderKey) => !passed.includes(id) && !isHeld(engine, standing, id);
    const key = engine.rotation.pick(model.id, keys, isUsable);
    if (!key) break;
    passed.push(key.id);
    const taken = await engine.quotas.take(model, key.id, run.request.ask);
    if ('availableAt' in taken) {
      (standing.held ??= new Map()).set(key.id, taken.availableAt);
      continue;
    }
    if (run.isCanceledOrExpired) {
      taken.grant.refund();
      return undefined;
    }
    const call = beginCall(engine, run, standing, key, taken.grant);
    if (!isAsked) standing.tries++;
    isAsked = true;
    const limits = attemptTimeouts(run, engine.policy, othersWait);
    const { ask, signal } = run.request;
    const result = await engine.provider.call({ model, baseUrl, key, ask, limits, signal });
    if (result.outcome !== 'failure') return complete(engine, run, standing, call, result);
    const failure = judged(engine, run, result, limits);
    recordFailure(engine, call, failure);
    standing.failure = failure;
    standing.state = stateAfter(failure.failureClass);
    if (run.isCanceledOrExpired || !isKeysFault(failure.failureClass)) return undefined;
  }
  if (!isAsked && standing.state === 'unasked') standing.state = 'cooling';
  return undefined;
}

function beginCall(
  { clock }: Engine,
  run: Run,
  { candidate, tries }: CandidateState,
  key: ProviderKey,
  grant: QuotaGrant,
): Call {
  run.calls++;
  return {
    request: run.request,
    model: candidate.model,
    key,
    grant,
    at: clock.now(),
    startedAt: clock.monotonic(),
    isRepeated: tries > 0,
  };
}

function isHeld({ cooldowns, clock }: Engine, { candidate, held }: CandidateState, keyId: string): boolean {
  if (cooldowns.of(candidate.model.id, keyId) !== undefined) return true;
  return held !== undefined && (held.get(keyId) ?? 0) > clock.now();
}

/** Another key of the same model may be welcome. */
function isKeysFault(failureClass: FailureClass): boolean {
  const { cools, cooldown } = failureRules[failureClass];
  return cools === 'key' && cooldown !== 0;
}

/** A call that its caller ended, or gave too little time, looks like many things: whose doing it was, we know better. */
function judged(
  { policy }: Engine,
  run: Run,
  failure: ProviderFailure,
  limits: AttemptTimeouts,
): ProviderFailure {
  const { failureClass, exceeded } = failure;
  const mayBeCallers = failureClass === 'network' || failureClass === 'timeout';
  if (mayBeCallers && run.request.signal.aborted) return { ...failure, failureClass: 'canceled' };
  const isTooLittle = exceeded !== undefined && hitDeadline(exceeded, limits, run, policy);
  return isTooLittle ? { ...failure, failureClass: 'deadline-too-short' } : failure;
}

function complete(
  engine: Engine,
  run: Run,
  { candidate }: CandidateState,
  call: Call,
  answer: ProviderResponse | ProviderStream,
): CompletionResult {
  const durationMs = engine.clock.monotonic() - call.startedAt;
  if (answer.quotaExhaustedUntil) coolDownEmptyKey(engine, call, answer.quotaExhaustedUntil);
  if (answer.outcome === 'answer') {
    recordCall(engine, call, 'success', answer.status, durationMs, answer.tokens);
    if (!isOutdated(engine, call.model)) engine.resting.succeeded(call.model.id);
  } else {
    void finishStream(engine, call, answer, durationMs);
  }
  const isFallback = !candidate.isFirstChoice || run.candidateStates[0]?.candidate !== candidate;
  return { model: call.model, attempts: run.calls, isFallback, durationMs, answer };
}

/** A stream counts by its end: one that breaks off after it has begun is a failure like any other. */
async function finishStream(
  engine: Engine,
  call: Call,
  { status, ended }: ProviderStream,
  firstContentMs: number,
): Promise<void> {
  const { failureClass, tokens, streamMs, hint } = await ended;
  recordCall(engine, call, failureClass ?? 'success', status, firstContentMs + streamMs, tokens);
  if (isOutdated(engine, call.model)) return;
  if (failureClass === null) return engine.resting.succeeded(call.model.id);
  coolDown(engine, call, failureClass, hint);
  if (isTransientModelFault(failureClass)) engine.resting.failed(call.model.id);
}
