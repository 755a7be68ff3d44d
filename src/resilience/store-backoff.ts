// How everything that keeps something of a store in memory comes back to a store that is away.
import { exponentialBackoff } from './backoff.ts';

/** The store is asked again after a quarter of a second at first, every ten seconds in the end. */
export const storeBackoff = exponentialBackoff({ initialMs: 250, maxMs: 10_000, jitter: 'equal' });
