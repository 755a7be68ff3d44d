// The order of attempts.
//
//   ┌► round: every candidate that is due has one try, in order; the first answer ends the request
//   │    nobody answered
//   │    ├─ some failed with what may pass, and have tries left → sleep RETRY_DELAY, or until the first of them may
//   │    │  be used again if that is later ─────────────────────────────────────────────────────────────────────┐
//   │    ├─ else some cool down, and the caller will wait that long → sleep until the soonest may be used ──────┤
//   │    └─ else, or if that sleep would reach the deadline → verdict                                           │
//   └───────────────────────────────────────────────────────────────────────────────────────────────────────────┘
//
// A model has at most 1 + MAX_RETRIES tries a request. `model-first` makes all of them, RETRY_DELAY apart, before it
// goes on to the next model; the rest is the same.
import type { Spoken } from '../ports.ts';
import type { Run } from './run.ts';
import type { Standing } from './standing.ts';
import { availabilityOf, isDue } from './standing.ts';
import type { Engine } from './try-model.ts';
import { tryModel } from './try-model.ts';

/** What was said; undefined when nobody could or time is up. Throws CANCELLED. */
export async function goRound(engine: Engine, run: Run, maxRetries: number): Promise<Spoken | undefined> {
  for (;;) {
    const spoken = await askEverybodyDue(engine, run, maxRetries);
    if (spoken) return spoken;
    const pauseMs = pauseBeforeNextRound(engine, run, maxRetries);
    if (pauseMs === undefined || !(await run.sleep(pauseMs))) return undefined;
  }
}

async function askEverybodyDue(engine: Engine, run: Run, maxRetries: number): Promise<Spoken | undefined> {
  for (let index = 0; index < run.standings.length; index++) {
    const standing = run.standings[index];
    if (!standing || !isDue(standing, maxRetries)) continue;
    if (run.isOver) return undefined;
    const othersWait = () => isAnybodyFree(engine, run.standings.slice(index + 1), maxRetries);
    const spoken = await askOne(engine, run, standing, maxRetries, othersWait);
    if (spoken) return spoken;
  }
  return undefined;
}

async function askOne(
  engine: Engine,
  run: Run,
  standing: Standing,
  maxRetries: number,
  othersWait: () => boolean,
): Promise<Spoken | undefined> {
  for (;;) {
    run.throwIfCancelled();
    const triesBefore = standing.tries;
    const spoken = await tryModel(engine, run, standing, othersWait);
    if (spoken) return spoken;
    run.throwIfCancelled();
    const isWorthAnother = standing.state === 'failing' && standing.tries <= maxRetries;
    if (engine.policy.retryOrder === 'rounds' || !isWorthAnother || standing.tries === triesBefore)
      return undefined;
    if (!(await run.sleep(engine.policy.retryDelayMs))) return undefined;
  }
}

function isAnybodyFree({ cooldowns, clock }: Engine, standings: readonly Standing[], maxRetries: number) {
  const now = clock.now();
  return standings.some(
    (standing) => isDue(standing, maxRetries) && availabilityOf(standing, cooldowns, now).at === null,
  );
}

/** Milliseconds; undefined when another round makes no sense. */
function pauseBeforeNextRound(engine: Engine, run: Run, maxRetries: number): number | undefined {
  const { clock, cooldowns, policy } = engine;
  const now = clock.now();
  let retryAt = Number.POSITIVE_INFINITY;
  let freeAt = Number.POSITIVE_INFINITY;
  for (const standing of run.standings) {
    if (standing.tries > maxRetries || standing.state === 'out') continue;
    const { at } = availabilityOf(standing, cooldowns, now);
    if (standing.state === 'failing')
      retryAt = Math.min(retryAt, Math.max(now + policy.retryDelayMs, at ?? 0));
    else if (at !== null) freeAt = Math.min(freeAt, at);
  }
  if (retryAt < Number.POSITIVE_INFINITY) return retryAt - now;
  const waitMs = Math.max(1, freeAt - now);
  if (waitMs > run.waitLeftMs) return undefined;
  run.waitLeftMs -= waitMs;
  // They were waited for: what refused for a limit may be asked once more, if its time has come by then.
  for (const standing of run.standings) if (standing.state === 'limited') standing.state = 'cooling';
  return waitMs;
}
