// The order of attempts.
//
//   ┌► round: every candidate that is due has one try, in order; the first answer ends the request
//   │    nobody answered: sleep until the sooner of
//   │    ├─ some failed with what may pass, and have tries left: RETRY_DELAY, or when the first of them may be used
//   │    │  again if that is later ────────────────────────────────────────────────────────────────────────────────┐
//   │    ├─ some cool down, and the caller will wait that long: when the soonest may be used ──────────────────────┤
//   │    └─ neither, or the sleep would reach the deadline → verdict                                               │
//   └──────────────────────────────────────────────────────────────────────────────────────────────────────────────┘
//
// A model has at most 1 + MAX_RETRIES tries a request, or two if it is waited for. `model-first` makes all of them,
// RETRY_DELAY apart, before it goes on to the next model; the rest is the same.
import type { CompletionResult } from '../ports.ts';
import type { Run } from './run.ts';
import type { CandidateState } from './standing.ts';
import { availabilityOf, hasTriesLeft, isDue } from './standing.ts';
import type { Engine } from './try-model.ts';
import { tryModel } from './try-model.ts';

/** What was said; undefined when nobody could or time is up. Throws CANCELED. */
export async function runRounds(
  engine: Engine,
  run: Run,
  maxRetries: number,
): Promise<CompletionResult | undefined> {
  do {
    for (const [index, standing] of run.candidateStates.entries()) {
      if (!isDue(standing, maxRetries, engine.clock.now())) continue;
      if (run.isOver) break;
      run.throwIfCancelled();
      const othersWait = () => isAnybodyFree(engine, run.candidateStates.slice(index + 1), maxRetries);
      const completion =
        engine.policy.retryOrder === 'rounds'
          ? await tryModel(engine, run, standing, othersWait)
          : await retryModel(engine, run, standing, maxRetries, othersWait);
      if (completion) return completion;
      run.throwIfCancelled();
    }
  } while (await wait(engine, run, pauseBeforeNextRound(engine, run, maxRetries)));
  return undefined;
}

/** All of a model's tries, one after the other. */
async function retryModel(
  engine: Engine,
  run: Run,
  standing: CandidateState,
  maxRetries: number,
  othersWait: () => boolean,
): Promise<CompletionResult | undefined> {
  for (;;) {
    const triesBefore = standing.tries;
    const completion = await tryModel(engine, run, standing, othersWait);
    if (completion) return completion;
    run.throwIfCancelled();
    const isWorthAnother = standing.state === 'failing' && hasTriesLeft(standing, maxRetries);
    if (!isWorthAnother || standing.tries === triesBefore) return undefined;
    if (!(await wait(engine, run, engine.policy.retryDelayMs))) return undefined;
  }
}

async function wait({ load }: Engine, run: Run, ms: number): Promise<boolean> {
  load.waiting++;
  try {
    return await run.sleep(ms);
  } finally {
    load.waiting--;
  }
}

function isAnybodyFree(
  { cooldowns, clock }: Engine,
  candidateStates: readonly CandidateState[],
  maxRetries: number,
) {
  const now = clock.now();
  return candidateStates.some(
    (standing) => isDue(standing, maxRetries, now) && availabilityOf(standing, cooldowns, now).at === null,
  );
}

/** Milliseconds; infinite when another round makes no sense. */
function pauseBeforeNextRound(engine: Engine, run: Run, maxRetries: number): number {
  const { clock, cooldowns, policy } = engine;
  const now = clock.now();
  let retryAt = Number.POSITIVE_INFINITY;
  let freeAt = Number.POSITIVE_INFINITY;
  for (const standing of run.candidateStates) {
    if (standing.state === 'out' || !hasTriesLeft(standing, maxRetries)) continue;
    const { at } = availabilityOf(standing, cooldowns, now);
    if (standing.state === 'failing') {
      standing.retryAt ??= now + policy.retryDelayMs;
      retryAt = Math.min(retryAt, Math.max(standing.retryAt, at ?? 0));
    } else if (at !== null) freeAt = Math.min(freeAt, at);
    // Its time came while others were asked. Whoever was asked already is given a moment.
    else if (isDue(standing, maxRetries, now))
      freeAt = Math.min(freeAt, standing.state === 'limited' ? now + policy.retryDelayMs : now);
  }
  const retryMs = Math.max(0, retryAt - now);
  const waitMs = Math.max(1, freeAt - now);
  if (waitMs >= retryMs || waitMs > run.waitLeftMs) return retryMs;
  run.waitLeftMs -= waitMs;
  return waitMs;
}
