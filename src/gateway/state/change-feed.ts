// How processes that share a store tell each other that something changed.

/** What a process holds in memory and others may change. */
export type GatewayTopic = 'models' | 'cooldowns' | 'keys';

export interface ChangeFeed {
  /** Can other processes change the same data? If not, there is nothing to look at now and then. */
  readonly isShared: boolean;
  /**
   * Calls back with a topic when some process (this one too) changed it, and with `everything` when the store is
   * back after it was away: nobody knows what was missed. The returned function ends it. Fails with
   * STATE_UNAVAILABLE.
   */
  watch(onChange: (topic: GatewayTopic | 'everything') => void): Promise<() => Promise<void>>;
}
