// What everything that talks to a store needs, and what it makes of a store that does not answer.
import type { Clock, Emitter, Random } from '../../core/index.ts';
import { kindOf } from '../../core/index.ts';
import { Reload } from '../../resilience/index.ts';
import type { GatewayEvents } from '../events.ts';

export interface StateDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Emitter<GatewayEvents>;
}

/** `what` is for `gateway:store-failed`: `read models`. */
export function reloadOf(parts: StateDeps, what: string, load: () => Promise<void>): Reload {
  return new Reload(parts, {
    load,
    onFailure: (error) =>
      parts.events.emit('gateway:store-failed', { what, cause: kindOf(error), waiting: 0 }),
  });
}

/**
 * Did the store, being there, refuse the data itself (SQLSTATE classes 22 and 23)? Then it will refuse it again;
 * everything else is worth another try.
 */
export const isRefusedForGood = (error: unknown): boolean => /^2[23][0-9A-Z]{3}$/.test(kindOf(error));
