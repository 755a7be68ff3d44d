// Everything the gateway remembers beyond one process.
import type { AttemptStore, CooldownStore, GatewayKeyStore, ModelStore, UsageStore } from '../ports.ts';
import type { GatewayChangeFeed } from './change-feed.ts';

export interface GatewayStores {
  readonly models: ModelStore;
  readonly cooldowns: CooldownStore;
  readonly attempts: AttemptStore;
  readonly keys: GatewayKeyStore;
  readonly usage: UsageStore;
  readonly changes: GatewayChangeFeed;
}
