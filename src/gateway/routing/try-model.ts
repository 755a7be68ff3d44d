// One try of one model: choose a key, take from its quota, call, and draw the consequences.
//
// A key that is refused (429, 401, 403, 402), or whose quota we have used up, gives way to the model's next key at
// once, within the same try; each key is asked at most once a try. Anything else ends the try.
import type { FailureClass } from '../failure-classes.ts';
import { failureRules } from '../failure-classes.ts';
import type { ProviderAnswer, ProviderFailure, ProviderKey, ProviderStream, Spoken } from '../ports.ts';
import { attemptLimits } from './attempt-limits.ts';
import type { Call } from './consequences.ts';
import { coolDown, coolDownEmptyKey, recordCall, recordFailure } from './consequences.ts';
import type { KeyRotation } from './key-rotation.ts';
import type { GatewayParts } from './parts.ts';
import type { Run } from './run.ts';
import type { Standing } from './standing.ts';
import { stateAfter } from './standing.ts';

export interface Engine extends GatewayParts {
  readonly rotation: KeyRotation;
}

/** What was said, or nothing; then `standing` tells why. Counts as a try only if a call was made. */
export async function tryModel(
  engine: Engine,
  run: Run,
  standing: Standing,
  othersWait: () => boolean,
): Promise<Spoken | undefined> {
  const { model, keys } = standing.candidate;
  const passed: string[] = [];
  let isAsked = false;
  standing.retryAt = undefined;
  for (;;) {
    const isUsable = ({ id }: ProviderKey) => !passed.includes(id) && !isHeld(engine, standing, id);
    const key = engine.rotation.pick(model.id, keys, isUsable);
    if (!key) break;
    passed.push(key.id);
    const taken = await engine.quotas.take(model, key.id, run.request.ask.estimatedTokens);
    if ('availableAt' in taken) {
      (standing.held ??= new Map()).set(key.id, taken.availableAt);
      continue;
    }
    if (run.signal.aborted) {
      taken.grant.giveBack();
      return undefined;
    }
    const { clock } = engine;
    const call: Call = {
      request: run.request,
      model,
      key,
      grant: taken.grant,
      at: clock.now(),
      startedAt: clock.monotonic(),
      isRepeated: standing.tries > 0,
    };
    if (!isAsked) standing.tries++;
    isAsked = true;
    const result = await callProvider(engine, run, standing, call, othersWait);
    if (result.outcome !== 'failure') return speak(engine, run, standing, call, result);
    standing.failure = result;
    standing.state = stateAfter(result.failureClass);
    if (run.signal.aborted || !isKeysFault(result.failureClass)) return undefined;
  }
  if (!isAsked && standing.state === 'unasked') standing.state = 'cooling';
  return undefined;
}

function isHeld({ cooldowns, clock }: Engine, { candidate, held }: Standing, keyId: string): boolean {
  if (cooldowns.of(candidate.model.id, keyId) !== undefined) return true;
  return held !== undefined && (held.get(keyId) ?? 0) > clock.now();
}

/** Another key of the same model may be welcome. */
function isKeysFault(failureClass: FailureClass): boolean {
  const { cools, cooldown } = failureRules[failureClass];
  return cools === 'key' && cooldown !== 0;
}

async function callProvider(
  engine: Engine,
  run: Run,
  { candidate }: Standing,
  call: Call,
  othersWait: () => boolean,
): Promise<ProviderAnswer | ProviderStream | ProviderFailure> {
  const { isCutShort, ...limits } = attemptLimits(run, engine.policy, othersWait);
  run.calls++;
  const result = await engine.provider.call({
    model: candidate.model,
    baseUrl: candidate.baseUrl,
    key: call.key,
    ask: run.request.ask,
    limits,
    signal: run.signal,
  });
  if (result.outcome !== 'failure') return result;
  const failureClass = judged(result.failureClass, run);
  const failure = { ...result, failureClass };
  const saysNothing = failureClass === 'timeout' && isCutShort;
  recordFailure(engine, call, failure, saysNothing ? 'cancelled' : failureClass);
  return failure;
}

/** A call that we ended ourselves looks like many things: whose end it was, we know better. */
function judged(failureClass: FailureClass, run: Run): FailureClass {
  if (failureClass !== 'cancelled' && failureClass !== 'network' && failureClass !== 'timeout')
    return failureClass;
  if (run.request.signal.aborted) return 'cancelled';
  return run.signal.aborted ? 'timeout' : failureClass;
}

function speak(
  engine: Engine,
  run: Run,
  { candidate }: Standing,
  call: Call,
  answer: ProviderAnswer | ProviderStream,
): Spoken {
  const durationMs = engine.clock.monotonic() - call.startedAt;
  if (answer.emptyUntil) coolDownEmptyKey(engine, call, answer.emptyUntil);
  if (answer.outcome === 'answer') {
    recordCall(engine, call, 'success', answer.status, answer.tokens);
    engine.resting.succeeded(call.model.id);
    run.dispose();
  } else {
    run.liftDeadline();
    void finishStream(engine, run, call, answer);
  }
  const isFallback = !candidate.isFirstChoice || run.standings[0]?.candidate !== candidate;
  return { model: call.model, attempts: run.calls, isFallback, durationMs, answer };
}

/** A stream counts by its end: one that breaks off after it has begun is a failure like any other. */
async function finishStream(
  engine: Engine,
  run: Run,
  call: Call,
  { status, ended }: ProviderStream,
): Promise<void> {
  const { failureClass, tokens } = await ended;
  run.dispose();
  recordCall(engine, call, failureClass ?? 'success', status, tokens);
  if (failureClass === null) return engine.resting.succeeded(call.model.id);
  coolDown(engine, call, failureClass, undefined);
  if (failureRules[failureClass].isRetried) engine.resting.failed(call.model.id);
}
