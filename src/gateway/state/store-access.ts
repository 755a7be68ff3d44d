// What every part of the gateway's state shares when it reads from and writes to a store.
import type { Clock, Emitter, Random } from '../../core/index.ts';
import { CoreError, kindOf, withTimeout } from '../../core/index.ts';
import type { WriteBehindSource } from '../../resilience/index.ts';
import { Reload, WriteBehind } from '../../resilience/index.ts';
import type { GatewayEvents } from '../events.ts';

export interface StateDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Emitter<GatewayEvents>;
}

/** Emits `gateway:store-failed` with `what` (`read models`) when a load fails. */
export function storeReload({ events, ...deps }: StateDeps, what: string, load: () => Promise<void>): Reload {
  const onFailure = (error: unknown) =>
    events.emit('gateway:store-failed', { what, cause: kindOf(error), waiting: 0 });
  return new Reload(deps, { load, onFailure });
}

/** Emits `gateway:store-failed` with `what` (`attempts`) when a write fails. */
export function storeWrites(
  { events, ...deps }: StateDeps,
  what: string,
  source: Omit<WriteBehindSource, 'onFailure'>,
): WriteBehind {
  const onFailure = (error: unknown) =>
    events.emit('gateway:store-failed', { what, cause: kindOf(error), waiting: source.waiting() });
  return new WriteBehind(deps, { ...source, onFailure });
}

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
