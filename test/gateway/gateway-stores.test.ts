// The gateway's stores in Postgres keep their contracts, embedded and on a server.
import { afterAll, beforeAll, describe } from 'vitest';
import { systemClock } from '../../src/core/index.ts';
import { postgresGatewayStores } from '../../src/gateway/postgres/index.ts';
import { describeAttemptStoreContract } from '../../src/gateway/state/attempt-store.contract.ts';
import { describeCooldownStoreContract } from '../../src/gateway/state/cooldown-store.contract.ts';
import { exampleModel } from '../../src/gateway/state/examples.contract.ts';
import { describeGatewayKeyStoreContract } from '../../src/gateway/state/gateway-key-store.contract.ts';
import { describeModelStoreContract } from '../../src/gateway/state/model-store.contract.ts';
import { describeUsageStoreContract } from '../../src/gateway/state/usage-store.contract.ts';
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
      truncate gateway_models, gateway_cooldowns, gateway_attempts, gateway_keys, gateway_usage`);
    return postgresGatewayStores(opened.database, systemClock);
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
  describeGatewayKeyStoreContract(name, async () => (await emptyStores()).keys);
  describeUsageStoreContract(name, async () => {
    const { stores, modelIds } = await withModels();
    return { store: stores.usage, modelIds };
  });
});
