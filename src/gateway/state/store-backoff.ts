// What everything that talks to a store needs, and how it comes back to a store that is away.
import type { Clock, Emitter, Random } from '../../core/index.ts';
import { kindOf } from '../../core/index.ts';
import { exponentialBackoff } from '../../resilience/backoff.ts';
import type { GatewayEvents } from '../events.ts';

export interface StateParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Emitter<GatewayEvents>;
}

/** The store is asked again after a quarter of a second at first, every ten seconds in the end. */
export const storeBackoff = exponentialBackoff({ initialMs: 250, maxMs: 10_000, jitter: 'equal' });

/**
 * Did the store, being there, refuse the data itself (SQLSTATE classes 22 and 23)? Then it will refuse it again;
 * everything else is worth another try.
 */
export const isRefusedForGood = (error: unknown): boolean => /^2[23][0-9A-Z]{3}$/.test(kindOf(error));
