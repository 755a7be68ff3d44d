// What every part of the gateway's state shares when it reads from and writes to a store.
import type { Clock, Emitter, Random } from '../../core/index.ts';
import { CoreError, kindOf, withTimeout } from '../../core/index.ts';
import type { MirrorSource, WriteBehindSource } from '../../resilience/index.ts';
import { Mirror, Reload, WriteBehind } from '../../resilience/index.ts';
import type { GatewayEvents } from '../events.ts';

export interface StateDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Emitter<GatewayEvents>;
}

/** Each emits `gateway:store-failed` with `what` (`read models`, `attempts`) when the store fails. */
export function storeReload(deps: StateDeps, what: string, load: () => Promise<void>): Reload {
  return new Reload(deps, { load, onFailure: failureReporter(deps, what) });
}

export function storeMirror<Row>(
  deps: StateDeps,
  what: string,
  source: Omit<MirrorSource<Row>, 'onFailure'>,
): Mirror<Row> {
  return new Mirror(deps, { ...source, onFailure: failureReporter(deps, what) });
}

export function storeWrites(
  deps: StateDeps,
  what: string,
  source: Omit<WriteBehindSource, 'onFailure'>,
): WriteBehind {
  return new WriteBehind(deps, { ...source, onFailure: failureReporter(deps, what, source.waiting) });
}

/** `waiting`: how much was not written. */
export const failureReporter =
  ({ events }: StateDeps, what: string, waiting = () => 0) =>
  (error: unknown): void =>
    events.emit('gateway:store-failed', { what, cause: kindOf(error), waiting: waiting() });

/** The store rejected the data itself (SQLSTATE classes 22 and 23) and would again; other errors are worth a retry. */
export const isPermanentStoreError = (error: unknown): boolean => /^2[23][0-9A-Z]{3}$/.test(kindOf(error));

const operatorTimeoutMs = 3_000;

/** For operator actions. Fails with STATE_UNAVAILABLE when the store does not respond. */
export function withStoreTimeout<T>(clock: Clock, work: Promise<T>): Promise<T> {
  return withTimeout(work, {
    clock,
    timeoutMs: operatorTimeoutMs,
    onTimeout: () =>
      new CoreError(
        'STATE_UNAVAILABLE',
        `The state store did not respond within ${operatorTimeoutMs / 1_000} s. The change may still take effect ` +
          `when it is available again: check before you repeat it. Requests to models continue.`,
        { isRetryable: true },
      ),
  });
}
