// The gateway's stores in Postgres, embedded or on a server.
import type { Clock } from '../../core/index.ts';
import type { Database } from '../../platform/postgres/ports.ts';
import { ChangeFeed } from '../../platform/postgres/change-feed.ts';
import { gatewayTopics } from '../state/change-feed.ts';
import type { GatewayStores } from '../state/gateway-stores.ts';
import { changesChannel } from './changes-channel.ts';
import { PostgresAttemptStore } from './postgres-attempt-store.ts';
import { PostgresCooldownStore } from './postgres-cooldown-store.ts';
import { PostgresGatewayKeyStore } from './postgres-gateway-key-store.ts';
import { PostgresModelStore } from './postgres-model-store.ts';
import { PostgresUsageStore } from './postgres-usage-store.ts';

export function postgresGatewayStores(database: Database, clock: Clock): GatewayStores {
  return {
    models: new PostgresModelStore(database, clock),
    cooldowns: new PostgresCooldownStore(database),
    attempts: new PostgresAttemptStore(database),
    keys: new PostgresGatewayKeyStore(database),
    usage: new PostgresUsageStore(database),
    changes: new ChangeFeed(database, changesChannel(database.schema), gatewayTopics),
  };
}
