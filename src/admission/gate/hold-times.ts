// How long slots are held, measured: from that comes when to try again.

/** A new measurement counts a fifth: the last handful decides. */
const weight = 0.2;
/** Said as long as nothing was measured. */
const unmeasuredMs = 5_000;
const shortestMs = 1_000;
const longestMs = 60_000;
/** Organizations and slots that are remembered; the oldest go first. */
const mostRemembered = 10_000;

export class HoldTimes {
  readonly #startedAt = new Map<string, { readonly organizationId: string; readonly at: number }>();
  readonly #byOrganization = new Map<string, number>();
  #overallMs: number | undefined;

  /** A slot was taken. `now` as everywhere here: milliseconds that never run backwards. */
  begin(organizationId: string, executionId: string, now: number): void {
    if (this.#startedAt.has(executionId)) return;
    remember(this.#startedAt, executionId, { organizationId, at: now });
  }

  /** It is free again. What was not begun here, or has ended already, says nothing. */
  end(executionId: string, now: number): void {
    const started = this.#startedAt.get(executionId);
    if (!started) return;
    this.#startedAt.delete(executionId);
    const heldMs = Math.max(0, now - started.at);
    this.#overallMs = blended(this.#overallMs, heldMs);
    const { organizationId } = started;
    const known = this.#byOrganization.get(organizationId);
    this.#byOrganization.delete(organizationId);
    remember(this.#byOrganization, organizationId, blended(known, heldMs));
  }

  /** Nothing came of it: what was not used must not be measured. */
  forget(executionId: string): void {
    this.#startedAt.delete(executionId);
  }

  /**
   * When one who is turned away has a chance, from 1 to 60 seconds: `held` slots of about the same length become free
   * one after the other, and `ahead` others wait already.
   */
  retryAfterMs(organizationId: string | null, held: number, ahead: number): number {
    const own = organizationId === null ? undefined : this.#byOrganization.get(organizationId);
    const heldMs = own ?? this.#overallMs ?? unmeasuredMs;
    const untilFree = (heldMs * (ahead + 1)) / Math.max(held, 1);
    return Math.min(longestMs, Math.max(shortestMs, Math.ceil(untilFree)));
  }
}

const blended = (known: number | undefined, measured: number): number =>
  known === undefined ? measured : known + weight * (measured - known);

function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value);
  if (map.size <= mostRemembered) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
