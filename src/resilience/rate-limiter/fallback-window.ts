// A shared window with a local one as fallback: callers never wait for a shared window that is down.
//
//   shared → local   the shared window failed; from this decision on the local window decides alone
//   local  → shared  a background probe of the shared window, at most once a second, succeeded
//
// While shared, both windows must agree: the local one counts every grant of this machine, so that a change of state
// never permits more than the limit. While local, the grants of other machines are unknown.
import type { Clock } from '../../core/clock.ts';
import type {
  LateGrant,
  WindowRequest,
  LocalRateWindow,
  RateLimits,
  RateWindow,
  WindowReply,
} from './policy.ts';
import { emptyRequest } from './policy.ts';

export interface FallbackRateWindowOptions {
  readonly shared: RateWindow;
  /** A window of the same limits. */
  readonly local: LocalRateWindow;
  readonly clock: Clock;
  /** Called with the error when the shared window is lost, and with undefined when it is back. */
  readonly onChange: (cause: unknown) => void;
}

const probeIntervalMs = 1_000;
/** A shared grant older than this is not used: other machines may have been granted as much since. */
const staleMs = 250;

export class FallbackRateWindow implements RateWindow {
  readonly limits: RateLimits;
  readonly isLocal = false;
  readonly #options: FallbackRateWindowOptions;
  #isLocalOnly = false;
  #probeAt = Number.NEGATIVE_INFINITY;

  constructor(options: FallbackRateWindowOptions) {
    this.limits = options.local.limits;
    this.#options = options;
  }

  /** Both must permit it, as for a grant. */
  sendLate({ stamp, given, lateMs }: LateGrant): string | null {
    const { local, shared } = this.#options;
    const half = (index: 0 | 1) => ({ stamp: halfOf(stamp, index), given: halfOf(given, index), lateMs });
    const ofShared = this.#isLocalOnly ? halfOf(stamp, 0) : shared.sendLate(half(0));
    const ofLocal = ofShared === null ? null : local.sendLate(half(1));
    return ofLocal === null ? null : `${ofShared} ${ofLocal}`;
  }

  async exchange(request: WindowRequest): Promise<WindowReply> {
    if (this.#isLocalOnly) return this.#exchangeLocally(request);
    let reply: WindowReply;
    try {
      reply = await this.#options.shared.exchange(stampsOf(request, 0));
    } catch (error) {
      this.#disconnect(error);
      return this.#exchangeLocally(request);
    }
    return this.#exchangeBoth(reply, request);
  }

  async #exchangeBoth(reply: WindowReply, request: WindowRequest): Promise<WindowReply> {
    const { local, shared, clock } = this.#options;
    const grantedAt = clock.monotonic();
    await local.syncFrom(reply.state);
    const { sentLate, sentLateGiven, unsent } = stampsOf(request, 1);
    const localReply = await local.exchange({
      ...emptyRequest,
      sentLate,
      sentLateGiven,
      unsent,
      wanted: reply.granted,
    });
    // True when another process held the local journal for long.
    const isStale = clock.monotonic() - grantedAt > staleMs;
    const granted = isStale ? 0 : localReply.granted;
    const surplus = reply.granted - granted;
    if (surplus > 0)
      await Promise.resolve(
        shared.exchange({ ...emptyRequest, returned: surplus, returnedStamp: reply.stamp }),
      ).catch((error: unknown) => this.#disconnect(error));
    return {
      ...reply,
      granted,
      waitMs: isStale ? 1 : Math.max(reply.waitMs, localReply.waitMs),
      stamp: `${reply.stamp} ${localReply.stamp}`,
    };
  }

  async #exchangeLocally(request: WindowRequest): Promise<WindowReply> {
    this.#probeShared();
    const reply = await this.#options.local.exchange(stampsOf(request, 1));
    return { ...reply, stamp: `${unknownStamp} ${reply.stamp}` };
  }

  #disconnect(cause: unknown): void {
    this.#probeAt = this.#options.clock.monotonic() + probeIntervalMs;
    if (this.#isLocalOnly) return;
    this.#isLocalOnly = true;
    this.#options.onChange(cause);
  }

  #probeShared(): void {
    const { clock, shared, onChange } = this.#options;
    const now = clock.monotonic();
    if (now < this.#probeAt) return;
    this.#probeAt = Number.POSITIVE_INFINITY;
    const onSuccess = () => {
      this.#isLocalOnly = false;
      onChange(undefined);
    };
    Promise.resolve(shared.exchange(emptyRequest)).then(onSuccess, (error: unknown) =>
      this.#disconnect(error),
    );
  }
}

/** Placeholder stamp of a grant that the shared window lacks: when moved there, it is added. */
const unknownStamp = '0';

const halfOf = (stamp: string, half: 0 | 1): string => stamp.split(' ')[half] ?? '';

/** A stamp identifies a grant in both windows: `shared local`. `half` selects one of them. */
function stampsOf(request: WindowRequest, half: 0 | 1): WindowRequest {
  const of = (stamp: string) => halfOf(stamp, half);
  return {
    ...request,
    sentLate: request.sentLate.map(of),
    sentLateGiven: request.sentLateGiven.map(of),
    unsent: request.unsent.map(of),
    returnedStamp: of(request.returnedStamp),
  };
}
