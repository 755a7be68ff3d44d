// The report of `/readyz`: each dependency with its state, available capabilities, and firing critical alerts. Records
// in the ledger that the state store cannot write (disk full, too many open files) as soon as it can again.
import { abortable, messageOf, shortageTexts, systemClock } from '../core/index.ts';
import type { Capability, Database } from '../platform/postgres/index.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import type { Alert } from './alerts/alert-monitor.ts';
import type { JobQueue, Shortage } from '../core/index.ts';
import type { LedgerRecorder, RegisteredRepair } from '../ledger/index.ts';
import { requestRepairs } from '../ledger/index.ts';

export interface DependencyReport {
  readonly name: string;
  readonly state: 'up' | 'down' | 'not-configured';
  /** Down means "unavailable" when required, otherwise "degraded". */
  readonly required: boolean;
  /** One sentence for a person. */
  readonly detail: string | null;
  /** Start of the current state. */
  readonly since: Date | null;
  /** What to do about it. */
  readonly remedy: string | null;
}

/** What works only with an extension, a key or a model. Missing is a state, not an error. */
export interface CapabilityReport {
  readonly name: string;
  readonly isAvailable: boolean;
  readonly detail: string | null;
}

export interface ReadinessReport {
  readonly status: 'ready' | 'degraded' | 'unavailable';
  readonly dependencies: readonly DependencyReport[];
  readonly capabilities: readonly CapabilityReport[];
  /** Names of firing critical alerts. */
  readonly alerts: readonly string[];
}

export interface ReadinessDeps {
  readonly database: Pick<Database, 'capabilities' | 'ping' | 'shortage'>;
  readonly redis: Pick<RedisConnection, 'address' | 'ping'> | null;
  /** Firing alerts. */
  readonly alerts: () => readonly Pick<Alert, 'name' | 'severity'>[];
}

/** Longer than a healthy store takes, shorter than a load balancer's timeout. */
const defaultTimeoutMs = 2_000;

export class Readiness {
  readonly #deps: ReadinessDeps;
  readonly #since = new Map<string, { readonly state: string; readonly at: Date }>();

  constructor(deps: ReadinessDeps) {
    this.#deps = deps;
  }

  async report(): Promise<ReadinessReport> {
    const dependencies = await this.dependencies();
    const down = dependencies.filter(({ state }) => state === 'down');
    const critical = this.#deps.alerts().filter(({ severity }) => severity === 'critical');
    const { vector, trigram } = this.#deps.database.capabilities;
    const isUnavailable = down.some(({ required }) => required);
    return {
      status: isUnavailable ? 'unavailable' : down.length + critical.length > 0 ? 'degraded' : 'ready',
      dependencies,
      capabilities: [capability('vector', vector), capability('trigram', trigram)],
      alerts: [...new Set(critical.map(({ name }) => name))],
    };
  }

  /** A store that takes longer than `timeoutMs` is down. */
  dependencies(timeoutMs = defaultTimeoutMs): Promise<readonly DependencyReport[]> {
    return Promise.all([this.#database(timeoutMs), this.#redis(timeoutMs)]);
  }

  async #database(timeoutMs: number): Promise<DependencyReport> {
    const { database } = this.#deps;
    const { version, kind } = database.capabilities;
    const failure = await pingFailure((signal) => database.ping(signal), timeoutMs);
    const { shortage } = database;
    return this.#dependency(
      'state store',
      true,
      `Postgres ${version}, ${kind}`,
      failure,
      shortage === null
        ? {
            detail: 'The state store does not respond; requests that need it return 503 until it is back.',
            remedy: 'Start Postgres again, or check the network to it. This server needs no restart.',
          }
        : {
            detail: `The state store ${shortageTexts[shortage].problem}; requests that write return 503 until it can.`,
            remedy: shortageTexts[shortage].remedy,
          },
    );
  }

  async #redis(timeoutMs: number): Promise<DependencyReport> {
    const { redis } = this.#deps;
    if (!redis)
      return {
        name: 'redis',
        state: 'not-configured',
        required: false,
        detail: 'Limits are counted in this process.',
        since: null,
        remedy: null,
      };
    const failure = await pingFailure(() => redis.ping(), timeoutMs);
    return this.#dependency('redis', false, `Redis at ${redis.address}`, failure, {
      detail: 'Redis does not respond; shared limits do not work until it is back.',
      remedy: 'Start Redis again, or check the network to it. This server needs no restart.',
    });
  }

  #dependency(
    name: string,
    required: boolean,
    what: string,
    failure: string | null,
    whenDown: { readonly detail: string; readonly remedy: string },
  ): DependencyReport {
    const state = failure === null ? 'up' : 'down';
    const known = this.#since.get(name);
    const since = known?.state === state ? known.at : new Date(systemClock.now());
    this.#since.set(name, { state, at: since });
    return failure === null
      ? { name, state, required, detail: `${what} responds.`, since, remedy: null }
      : { name, state, required, since, ...whenDown };
  }
}

async function pingFailure(
  ping: (signal: AbortSignal) => Promise<void>,
  timeoutMs: number,
): Promise<string | null> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    await abortable(ping(signal), signal);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

function capability(name: string, found: Capability): CapabilityReport {
  return {
    name,
    isAvailable: found.available,
    detail: found.available ? `version ${found.version}` : `${found.reason} ${found.remedy}`,
  };
}

const shortageKind = 'state-store.cannot-write';

const causes: Readonly<Record<Shortage, string>> = {
  disk: 'DISK_FULL',
  files: 'TOO_MANY_OPEN_FILES',
  io: 'IO_ERROR',
};

export interface StoreShortageDeps {
  readonly database: Pick<Database, 'onShortage' | 'ping'>;
  readonly ledger: LedgerRecorder;
  readonly jobs: Pick<JobQueue, 'enqueue'>;
}

/** The returned function stops recording. */
export function recordShortages({ database, ledger, jobs }: StoreShortageDeps): () => void {
  return database.onShortage((shortage) => {
    if (shortage === null) return requestRepairs(jobs, [shortageKind]);
    const { problem, remedy } = shortageTexts[shortage];
    // The recorder keeps it until the store accepts it.
    void ledger.record({
      kind: shortageKind,
      subject: shortage,
      cause: causes[shortage],
      message: `The state store ${problem}; requests that write got 503. ${remedy}`,
    });
  });
}

export function shortageRepair({ database }: Pick<StoreShortageDeps, 'database'>): RegisteredRepair {
  return {
    kind: shortageKind,
    describe: 'Check that the state store can write.',
    repair: async (_, signal) => {
      await database.ping(signal);
      return { outcome: 'repaired' };
    },
  };
}
