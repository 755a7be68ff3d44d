// The kinds of job this process knows, each a queue of pg-boss.
import type { PgBoss } from 'pg-boss';
import type { JobDefinition } from '../../../core/index.ts';
import { CoreError } from '../../../core/index.ts';
import { crashAllowance, undefinedKind } from '../job-rules.ts';

/** pg-boss ends whatever is active for longer than a day; our own time limits must come first. */
const longestTimeoutMs = 23 * 3_600_000;

const tenYearsInSeconds = 315_360_000;

const nobody = '00000000-0000-4000-8000-000000000000';

export class JobKinds {
  readonly #boss: PgBoss;
  readonly #definitions = new Map<string, JobDefinition<unknown>>();

  constructor(boss: PgBoss) {
    this.#boss = boss;
  }

  get(name: string): JobDefinition<unknown> {
    const definition = this.#definitions.get(name);
    if (!definition) throw undefinedKind(name);
    return definition;
  }

  /** Makes or changes only the queues that differ: in a store that knows them all it costs a query, and one each. */
  async define(definitions: readonly JobDefinition<unknown>[]): Promise<void> {
    for (const definition of definitions) check(definition);
    const queues = new Map((await this.#boss.getQueues()).map((queue) => [queue.name, queue]));
    for (const definition of definitions) {
      const { name } = definition;
      const settings = queueSettings(definition);
      const queue = queues.get(name);
      if (!queue) await this.#boss.createQueue(name, { ...settings, policy: 'exclusive' });
      else if (queue.retryLimit !== settings.retryLimit) await this.#boss.updateQueue(name, settings);
      this.#definitions.set(name, definition);
    }
    // Fills pg-boss's cache: looking a queue up during a send inside a transaction would wait for itself. Also of those
    // that were there: another process may have made them after the cache was filled at the start.
    await Promise.all(definitions.map(({ name }) => this.#boss.findJobs(name, { id: nobody })));
  }
}

/** Nothing is deleted by pg-boss: pending jobs wait as long as it takes, ended ones until our retention takes them. */
function queueSettings(definition: JobDefinition<unknown>) {
  return {
    retryLimit: definition.retries + crashAllowance,
    retryDelay: 0,
    expireInSeconds: 86_400,
    retentionSeconds: tenYearsInSeconds,
    deleteAfterSeconds: 0,
    notify: true,
  };
}

function check(definition: JobDefinition<unknown>): void {
  const { name, timeoutMs, concurrency, retries, retryDelayMs, retryDelayMaxMs = 0 } = definition;
  const wrong =
    (!/^[\w.-]+$/.test(name) && `its name may hold letters, digits, ".", "-" and "_" only`) ||
    (!(timeoutMs > 0 && timeoutMs <= longestTimeoutMs) &&
      `timeoutMs is ${timeoutMs}, not between 1 and ${longestTimeoutMs}`) ||
    (!(Number.isInteger(concurrency) && concurrency > 0) && `concurrency is ${concurrency}, not 1 or more`) ||
    (!(Number.isInteger(retries) && retries >= 0) && `retries is ${retries}, not 0 or more`) ||
    (!isDelay(retryDelayMs) && `retryDelayMs is ${retryDelayMs}, not a number of 0 or more`) ||
    (!isDelay(retryDelayMaxMs) && `retryDelayMaxMs is ${retryDelayMaxMs}, not a number of 0 or more`);
  if (wrong) throw new CoreError('INTERNAL', `The job "${name}" cannot be defined: ${wrong}.`);
}

const isDelay = (ms: number): boolean => Number.isFinite(ms) && ms >= 0;
