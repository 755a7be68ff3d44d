// What `/readyz` says: each dependency with its state, and what optional parts are there.
import { abortable, messageOf, systemClock } from '../core/index.ts';
import type { DependencyReport, ReadinessReport } from '../http/index.ts';
import type { Capability } from '../platform/postgres/index.ts';
import type { Stores } from './stores.ts';

/** Longer than a healthy store ever takes, shorter than a load balancer's patience. */
const pingTimeoutMs = 2_000;

export class Readiness {
  readonly #stores: Stores;
  readonly #since = new Map<string, { readonly state: string; readonly at: Date }>();

  constructor(stores: Stores) {
    this.#stores = stores;
  }

  /** A store that takes longer than `timeoutMs` is down. */
  async report(timeoutMs = pingTimeoutMs): Promise<ReadinessReport> {
    const dependencies = await Promise.all([this.#state(timeoutMs), this.#redis(timeoutMs)]);
    const isDown = (dependency: DependencyReport) => dependency.state === 'down';
    const isUnavailable = dependencies.some((dependency) => isDown(dependency) && dependency.required);
    const { vector, trigram } = this.#stores.database.capabilities;
    return {
      status: isUnavailable ? 'unavailable' : dependencies.some(isDown) ? 'degraded' : 'ready',
      dependencies,
      capabilities: [capability('vector', vector), capability('trigram', trigram)],
    };
  }

  async #state(timeoutMs: number): Promise<DependencyReport> {
    const { capabilities } = this.#stores.database;
    const what = `Postgres ${capabilities.version}, ${capabilities.kind}`;
    const problem = await problemOf((signal) => this.#stores.database.ping(signal), timeoutMs);
    return this.#dependency('state store', true, what, problem, {
      detail: 'The state store does not answer; what needs it answers 503 until it is back.',
      remedy: 'Start Postgres again, or check the network to it. Nothing has to be restarted here.',
    });
  }

  async #redis(timeoutMs: number): Promise<DependencyReport> {
    const { redis } = this.#stores;
    if (!redis)
      return {
        name: 'redis',
        state: 'not-configured',
        required: false,
        detail: 'Limits are kept in this process.',
        since: null,
        remedy: null,
      };
    const problem = await problemOf(() => redis.ping(), timeoutMs);
    return this.#dependency('redis', false, `Redis at ${redis.address}`, problem, {
      detail: 'Redis does not answer; what shares limits through it cannot until it is back.',
      remedy: 'Start Redis again, or check the network to it. Nothing has to be restarted here.',
    });
  }

  #dependency(
    name: string,
    required: boolean,
    what: string,
    problem: string | null,
    whenDown: { readonly detail: string; readonly remedy: string },
  ): DependencyReport {
    const state = problem === null ? 'up' : 'down';
    const known = this.#since.get(name);
    const since = known?.state === state ? known.at : new Date(systemClock.now());
    this.#since.set(name, { state, at: since });
    return problem === null
      ? { name, state, required, detail: `${what} answers.`, since, remedy: null }
      : { name, state, required, since, ...whenDown };
  }
}

async function problemOf(
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

function capability(name: string, found: Capability) {
  return {
    name,
    isAvailable: found.available,
    detail: found.available ? `version ${found.version}` : `${found.reason} ${found.remedy}`,
  };
}
