// Store contracts on Postgres, embedded and on a server.
import { afterAll, beforeAll, describe } from 'vitest';
import { systemClock } from '../../src/core/index.ts';
import { openGatewayStores } from '../../src/gateway/open-gateway.ts';
import {
  describeAttemptStoreContract,
  describeContentStoreContract,
} from '../support/gateway/attempt-store.contract.ts';
import { describeCooldownStoreContract } from '../support/gateway/cooldown-store.contract.ts';
import { describeDiscoveryStoreContract } from '../support/gateway/discovery-store.contract.ts';
import { exampleModel } from '../support/gateway/examples.ts';
import { describeGatewayKeyStoreContract } from '../support/gateway/gateway-key-store.contract.ts';
import { describeModelStoreContract } from '../support/gateway/model-store.contract.ts';
import { describeUsageStoreContract } from '../support/gateway/usage-store.contract.ts';
import { sql } from '../../src/platform/postgres/sql.ts';
import type { MigratedDatabase } from '../support/migrated-databases.ts';
import { migratedDatabases } from '../support/migrated-databases.ts';

describe.each(migratedDatabases)('%s', (kind, open) => {
  let opened: MigratedDatabase;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.dispose());

  const emptyStores = async () => {
    await opened.database.query(sql`
      truncate gateway_models, gateway_cooldowns, gateway_attempts, gateway_keys, gateway_usage,
        gateway_request_contents, gateway_discoveries, gateway_discovery_schedule`);
    return openGatewayStores({ database: opened.database, redis: null }, systemClock);
  };
  const withModels = async () => {
    const stores = await emptyStores();
    const one = await stores.models.add(exampleModel('a/one'));
    const two = await stores.models.add(exampleModel('a/two'));
    return { stores, modelIds: [one.id, two.id] as const };
  };

  const name = `Postgres, ${kind}`;
  describeModelStoreContract(name, async () => (await emptyStores()).models);
  describeCooldownStoreContract(name, async () => {
    const { stores, modelIds } = await withModels();
    return { store: stores.cooldowns, modelIds };
  });
  describeAttemptStoreContract(name, async () => {
    const { stores, modelIds } = await withModels();
    return { store: stores.attempts, modelIds };
  });
  describeContentStoreContract(name, async () => (await emptyStores()).contents);
  describeGatewayKeyStoreContract(name, async () => (await emptyStores()).keys);
  describeDiscoveryStoreContract(name, async () => (await emptyStores()).discoveries);
  describeUsageStoreContract(name, async () => {
    const { stores, modelIds } = await withModels();
    return { store: stores.usage, modelIds };
  });
});
