// Untrusted JSON schemas, compiled and run in threads that are terminated when they take too long.
import type { Clock } from '../../core/index.ts';
import type { WorkLimits } from '../threads/thread-pool.ts';
import { threadModule, ThreadPool } from '../threads/thread-pool.ts';
import { ThreadStopped, ThreadThrew } from '../threads/pooled-thread.ts';
import type { SchemaFunctions } from './schema-thread.ts';

/** A check was stopped: it took too long or too much memory, or recursed too deeply. */
export class SchemaCheckStopped extends Error {
  override readonly name = 'SchemaCheckStopped';
}

export interface SchemaChecksOptions {
  readonly clock: Clock;
  readonly timeoutMs?: number;
  readonly memoryMb?: number;
}

/** `group`: the organization whose schema it is; organizations take turns. */
type CheckOptions = Pick<WorkLimits, 'signal' | 'group'>;

const defaultTimeoutMs = 1_000;
const defaultMemoryMb = 256;
/** Two, so that one endless schema does not block all others. */
const maxThreads = 2;
/** Generated schemas have about 10,000 characters. Each is sent to a model, where this is about 60,000 tokens. */
const maxSchemaLength = 262_144;

export class SchemaChecks {
  readonly #pool: ThreadPool<SchemaFunctions>;
  readonly #timeoutMs: number;

  constructor({ clock, timeoutMs = defaultTimeoutMs, memoryMb = defaultMemoryMb }: SchemaChecksOptions) {
    this.#timeoutMs = timeoutMs;
    this.#pool = new ThreadPool({
      entry: threadModule('./schema-thread', import.meta.url),
      clock,
      memoryMb,
      size: maxThreads,
    });
  }

  /** The problem of the schema, as a sentence; null when it can be used. */
  async problemOf(schema: unknown, options: CheckOptions = {}): Promise<string | null> {
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
      return 'It must be a JSON object.';
    const text = jsonOf(schema);
    if (text === undefined) return 'It is nested too deeply.';
    if (text.length > maxSchemaLength)
      return `It is longer than ${maxSchemaLength.toLocaleString('en')} characters.`;
    try {
      return await this.#pool.run('problemOf', text, { timeoutMs: this.#timeoutMs, ...options });
    } catch (error) {
      if (error instanceof ThreadStopped) return `Using it ${this.#outcomeOf(error)}.`;
      throw error;
    }
  }

  /** The violations of the value, as sentences; empty when it is valid. Fails with SchemaCheckStopped. */
  async violations(schema: unknown, value: unknown, options: CheckOptions = {}): Promise<readonly string[]> {
    const text = jsonOf(value);
    if (text === undefined) return ['the value is nested too deeply'];
    try {
      return await this.#pool.run(
        'violations',
        { schema: JSON.stringify(schema), value: text },
        { timeoutMs: this.#timeoutMs, ...options },
      );
    } catch (error) {
      if (error instanceof ThreadStopped)
        throw new SchemaCheckStopped(`Checking against it ${this.#outcomeOf(error)}.`, { cause: error });
      if (error instanceof ThreadThrew)
        throw new SchemaCheckStopped(`Checking against it failed: ${error.message}.`, { cause: error });
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  #outcomeOf({ reason }: ThreadStopped): string {
    if (reason === 'time') return `took longer than ${this.#timeoutMs} ms`;
    return reason === 'memory' ? 'took too much memory' : 'crashed';
  }
}

/** Undefined when it is nested too deeply. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
