// Probes all models every so often: one process of all that share a store.
import type { Clock } from '../../core/index.ts';
import { kindOf } from '../../core/index.ts';

/** Remembers when the last round began, for all processes. */
export interface ProbeSchedule {
  /** True for the one who may begin a round now; the first ever is due an interval after the first look. */
  claim(now: number, intervalMs: number): Promise<boolean>;
}

export interface HealthWorkerParts {
  readonly clock: Clock;
  readonly rounds: ProbeSchedule;
  readonly intervalMs: number;
  readonly probeAll: (signal: AbortSignal) => Promise<unknown>;
  readonly onFailure: (cause: string) => void;
}

/** How often it looks whether a round is due; a short interval is looked at four times. */
const lookEveryMs = 30_000;

/** The returned function stops it and ends a round that is under way. */
export function startHealthWorker(parts: HealthWorkerParts): () => Promise<void> {
  const { clock, rounds, intervalMs } = parts;
  const stopping = new AbortController();
  const look = async (): Promise<void> => {
    try {
      const isOurs = await rounds.claim(clock.now(), intervalMs);
      if (isOurs && !stopping.signal.aborted) await parts.probeAll(stopping.signal);
    } catch (error) {
      if (!stopping.signal.aborted) parts.onFailure(kindOf(error));
    }
  };
  const pauseMs = Math.min(lookEveryMs, intervalMs / 4);
  let looking: Promise<void> = Promise.resolve();
  let cancel: () => void = () => undefined;
  const arm = (afterMs: number): void => {
    if (stopping.signal.aborted) return;
    cancel = clock.after(afterMs, () => {
      looking = look().finally(() => arm(pauseMs));
    });
  };
  arm(0);
  return async () => {
    stopping.abort();
    cancel();
    await looking;
  };
}
