// Starts pg-boss in two parts, because a warm start must be quick: at once what adding and claiming needs (four small
// reads), and in the background, later, its schedules and maintenance (0.3 s of first-time statements when embedded).
import { PgBoss, type ConstructorOptions } from 'pg-boss';
import { CoreError, messageOf, type Clock } from '../../../core/index.ts';
import { hasSchema, withRights } from '../../postgres/missing-rights.ts';
import type { Database } from '../../postgres/ports.ts';
import { bossDatabase } from './boss-database.ts';
import type { StoreWatch } from './store-watch.ts';

function newBoss(
  database: Database,
  schema: string,
  watch: StoreWatch,
  settings: ConstructorOptions,
): PgBoss {
  const boss = new PgBoss({
    db: bossDatabase(database),
    schema,
    backend: database.capabilities.kind === 'server' ? 'postgres' : 'pglite',
    schedule: false,
    supervise: false,
    ...settings,
  });
  // Without a listener an error of pg-boss's timers would end the process.
  return boss.on('error', (error) => watch.failed('maintain', error));
}

/**
 * Makes or migrates the schema if need be; safe with several processes starting at once. Fails with STATE_UNUSABLE
 * when the schema cannot be had, and with STATE_UNAVAILABLE when the store is away.
 */
export async function startBoss(database: Database, schema: string, watch: StoreWatch): Promise<PgBoss> {
  const boss = newBoss(database, schema, watch, { migrate: false });
  try {
    return await boss.start();
  } catch (error) {
    if (error instanceof CoreError) throw error;
    // Not there or too old. If it is something else, the installer or the second start will say so.
    // pg-boss would ask for the right to create schemas even where an administrator made this one for us.
    const createSchema = !(await hasSchema(database, schema));
    const installer = newBoss(database, schema, watch, { migrate: true, createSchema });
    return await installAndStart(database, boss, installer, schema);
  }
}

async function installAndStart(
  database: Database,
  boss: PgBoss,
  installer: PgBoss,
  schema: string,
): Promise<PgBoss> {
  try {
    return await withRights(database, async () => {
      await installer.start();
      await installer.stop({ graceful: false });
      return await boss.start();
    });
  } catch (error) {
    if (error instanceof CoreError) throw error;
    throw new CoreError(
      'STATE_UNUSABLE',
      `The tables for jobs (schema ${schema}) cannot be made or used: ${messageOf(error)}. See that no newer Headworks has used this store, and that nobody changed these tables.`,
      { cause: error },
    );
  }
}

export interface UpkeepOptions {
  readonly database: Database;
  readonly schema: string;
  readonly clock: Clock;
  readonly watch: StoreWatch;
  /** Whether to add the scheduled jobs. */
  readonly schedules: boolean;
  /** How long to leave the store to those who wait for it. */
  readonly afterMs: number;
  /** Between looks at the schedules. */
  readonly cronMs: number;
}

const tryAgainMs = 5_000;

export class Upkeep {
  readonly #options: UpkeepOptions;
  #boss: PgBoss | undefined;
  #starting: Promise<void> = Promise.resolve();
  #cancelTimer: () => void = () => undefined;
  #isStopped = false;

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  /** Begins later and by itself; tries again while the store is away. */
  start(afterMs = this.#options.afterMs): void {
    if (this.#isStopped) return;
    this.#cancelTimer = this.#options.clock.after(afterMs, () => {
      this.#starting = this.#startNow();
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer();
    await this.#starting;
    await this.#boss?.stop({ graceful: false });
  }

  async #startNow(): Promise<void> {
    const { database, schema, watch, schedules, cronMs } = this.#options;
    try {
      this.#boss = await newBoss(database, schema, watch, {
        migrate: true,
        schedule: schedules,
        cronMonitorIntervalSeconds: Math.max(1, Math.round(cronMs / 1_000)),
        cronWorkerIntervalSeconds: Math.max(1, Math.round(cronMs / 6_000)),
        // Lost jobs, retention and counts are ours. What is left of its supervision is the care of a server's indexes.
        supervise: database.capabilities.kind === 'server',
        superviseIntervalSeconds: 3_600,
        monitorIntervalSeconds: 3_600,
        flowIntervalSeconds: 3_600,
        bamIntervalSeconds: 3_600,
      }).start();
    } catch (error) {
      watch.failed('maintain', error);
      this.start(tryAgainMs);
    }
  }
}
