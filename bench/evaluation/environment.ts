import { randomBytes } from 'node:crypto';
import { createTelemetry } from '../../src/app/telemetry.ts';
import type { Config, Environment } from '../../src/config/index.ts';
import { systemClock, systemIds, systemRandom } from '../../src/core/index.ts';
import { openGateway } from '../../src/gateway/index.ts';
import type { Embedder } from '../../src/knowledge/vectors/embedders.ts';
import { openEmbedders } from '../../src/knowledge/vectors/embedders.ts';
import { identifier, loadMigrations, migrate, sql } from '../../src/platform/postgres/index.ts';
import type { Database } from '../../src/platform/postgres/ports.ts';

/** Heading, table and notes for the terminal; `figures` for JSON. */
export interface EvaluationReport {
  readonly heading: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly notes: readonly string[];
  readonly figures: unknown;
}

export interface EvaluationEnvironment {
  readonly database: Database;
  /** Null: lexical only; `whyNoEmbedder` is the reason. */
  readonly embedder: Embedder | null;
  readonly whyNoEmbedder: string | null;
}

/** Opens a store in memory, or in its own schema on the configured server; both are deleted afterwards. */
export async function openEvaluationEnvironment(
  config: Config,
  env: Environment,
  closing: AsyncDisposableStack,
): Promise<EvaluationEnvironment> {
  const database = await openTemporaryDatabase(config, closing);
  await migrate(database, await loadMigrations(), {
    clock: systemClock,
  });
  const { events, redactor } = createTelemetry(config, 'command');
  const gateway = await openGateway({
    clock: systemClock,
    random: systemRandom,
    ids: systemIds,
    events,
    redactor,
    stores: { database, redis: null },
    options: config.gateway,
    env,
  });
  closing.defer(() => gateway.close());
  const embedders = openEmbedders({
    options: config.knowledge,
    gateway,
    clock: systemClock,
    ids: systemIds,
  });
  closing.defer(() => embedders.close());
  const state = embedders.current();
  return state.state === 'ready'
    ? { database, embedder: state.embedder, whyNoEmbedder: null }
    : { database, embedder: null, whyNoEmbedder: state.why };
}

export async function openTemporaryDatabase(
  { state }: Config,
  closing: AsyncDisposableStack,
): Promise<Database> {
  const schema = `evaluation_${randomBytes(6).toString('hex')}`;
  if (state.databaseUrl === null) {
    const { openEmbeddedDatabase } = await import('../../src/platform/postgres/embedded/embedded-store.ts');
    const database = await openEmbeddedDatabase({ memory: true, schema, clock: systemClock });
    closing.defer(() => database.close());
    return database;
  }
  const { openServerDatabase } = await import('../../src/platform/postgres/server/server-store.ts');
  const database = await openServerDatabase({ url: state.databaseUrl, schema, clock: systemClock });
  closing.defer(async () => {
    await database.query(sql`drop schema if exists ${identifier(schema)} cascade`);
    await database.close();
  });
  return database;
}
