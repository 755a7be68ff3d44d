// A shared window that may go away, and one at hand that takes over: nobody waits for the shared one.
//
//   sharing → alone    the shared window failed; from this very decision on the one at hand decides by itself
//   alone   → sharing  a look at the shared one, once a second at most and behind everybody's back, succeeded
//
// While sharing both have to agree: the one at hand knows every grant of this machine, so that no change of state
// makes more of them than permitted. Alone it cannot know what other machines are granted meanwhile.
import type { Clock } from '../../core/clock.ts';
import type { Demand, LocalRateWindow, RateLimits, RateWindow, Taken } from './ports.ts';
import { emptyDemand } from './ports.ts';

export interface FallbackRateWindowOptions {
  readonly shared: RateWindow;
  /** Of the same limits. */
  readonly local: LocalRateWindow;
  readonly clock: Clock;
  /** Told when sharing ends, with its cause, and when it is back (undefined). */
  readonly onChange: (cause: unknown) => void;
}

const lookAgainMs = 1_000;
/** What was granted longer ago is no longer good: others may have been granted as much since. */
const staleMs = 250;

export class FallbackRateWindow implements RateWindow {
  readonly limits: RateLimits;
  readonly isLocal = false;
  readonly #options: FallbackRateWindowOptions;
  #isAlone = false;
  #lookAt = Number.NEGATIVE_INFINITY;

  constructor(options: FallbackRateWindowOptions) {
    this.limits = options.local.limits;
    this.#options = options;
  }

  async take(demand: Demand): Promise<Taken> {
    if (this.#isAlone) return this.#alone(demand);
    let taken: Taken;
    try {
      taken = await this.#options.shared.take(halfOf(demand, 0));
    } catch (error) {
      this.#leave(error);
      return this.#alone(demand);
    }
    return this.#together(taken, demand);
  }

  async #together(taken: Taken, demand: Demand): Promise<Taken> {
    const { local, shared, clock } = this.#options;
    const takenAt = clock.monotonic();
    await local.adopt(taken.state);
    const { late, held } = halfOf(demand, 1);
    const here = await local.take({ ...emptyDemand, late, held, wanted: taken.granted });
    // Somebody held the journal of the window at hand.
    const isStale = clock.monotonic() - takenAt > staleMs;
    const granted = isStale ? 0 : here.granted;
    const surplus = taken.granted - granted;
    if (surplus > 0)
      await Promise.resolve(
        shared.take({ ...emptyDemand, returned: surplus, returnedStamp: taken.stamp }),
      ).catch((error: unknown) => this.#leave(error));
    return {
      ...taken,
      granted,
      waitMs: isStale ? 1 : Math.max(taken.waitMs, here.waitMs),
      stamp: `${taken.stamp} ${here.stamp}`,
    };
  }

  async #alone(demand: Demand): Promise<Taken> {
    this.#lookAgain();
    const taken = await this.#options.local.take(halfOf(demand, 1));
    return { ...taken, stamp: `${unknownStamp} ${taken.stamp}` };
  }

  #leave(cause: unknown): void {
    this.#lookAt = this.#options.clock.monotonic() + lookAgainMs;
    if (this.#isAlone) return;
    this.#isAlone = true;
    this.#options.onChange(cause);
  }

  #lookAgain(): void {
    const { clock, shared, onChange } = this.#options;
    const now = clock.monotonic();
    if (now < this.#lookAt) return;
    this.#lookAt = Number.POSITIVE_INFINITY;
    const back = () => {
      this.#isAlone = false;
      onChange(undefined);
    };
    Promise.resolve(shared.take(emptyDemand)).then(back, (error: unknown) => this.#leave(error));
  }
}

/** In place of the shared window's stamp for a grant that it knows nothing of: moved there, it is simply added. */
const unknownStamp = '0';

/** A stamp names a grant in both windows: `shared local`. */
function halfOf(demand: Demand, half: 0 | 1): Demand {
  const of = (stamp: string) => stamp.split(' ')[half] ?? '';
  return {
    ...demand,
    late: demand.late.map(of),
    held: demand.held.map(of),
    returnedStamp: of(demand.returnedStamp),
  };
}
