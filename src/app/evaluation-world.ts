// A house of its own for an evaluation: a store that is thrown away afterwards, and an embedder as configured.
import { randomBytes } from 'node:crypto';
import type { Config } from '../config/index.ts';
import { systemClock, systemIds } from '../core/index.ts';
import type { Embedder } from '../knowledge/index.ts';
import type { Database } from '../platform/postgres/index.ts';
import { identifier, loadMigrations, migrate, sql } from '../platform/postgres/index.ts';
import type { Environment } from './extraction-environment.ts';
import { startGateway } from './gateway.ts';
import { createEmbedders } from './knowledge-embedder.ts';
import { createTelemetry } from './telemetry.ts';

export interface EvaluationWorld {
  readonly database: Database;
  /** Null: words only, and why. */
  readonly embedder: Embedder | null;
  readonly whyNoEmbedder: string | null;
}

/** In memory, or in a schema of its own on the configured server; nothing of either is left behind. */
export async function openEvaluationWorld(
  config: Config,
  env: Environment,
  closing: AsyncDisposableStack,
): Promise<EvaluationWorld> {
  const database = await openThrowaway(config, closing);
  await migrate(database, await loadMigrations(), {
    clock: systemClock,
  });
  const telemetry = createTelemetry(config, 'command');
  const stores = { database, redis: null };
  const gateway = await startGateway({ config, stores, telemetry, role: 'command', env }, closing);
  const options = config.knowledge;
  const state = createEmbedders({ options, gateway, clock: systemClock, ids: systemIds }, closing).current();
  return state.state === 'ready'
    ? { database, embedder: state.embedder, whyNoEmbedder: null }
    : { database, embedder: null, whyNoEmbedder: state.why };
}

async function openThrowaway({ state }: Config, closing: AsyncDisposableStack): Promise<Database> {
  const schema = `evaluation_${randomBytes(6).toString('hex')}`;
  if (state.databaseUrl === null) {
    const { openEmbeddedDatabase } = await import('../platform/postgres/embedded/index.ts');
    const database = await openEmbeddedDatabase({ memory: true, schema, clock: systemClock });
    closing.defer(() => database.close());
    return database;
  }
  const { openServerDatabase } = await import('../platform/postgres/server/index.ts');
  const database = await openServerDatabase({ url: state.databaseUrl, schema, clock: systemClock });
  closing.defer(async () => {
    await database.query(sql`drop schema if exists ${identifier(schema)} cascade`);
    await database.close();
  });
  return database;
}
