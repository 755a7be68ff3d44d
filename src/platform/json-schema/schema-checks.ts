// JSON schemas of strangers, compiled and run in threads that are ended when they take too long.
import type { Clock } from '../../core/index.ts';
import { threadModule } from '../threads/thread-module.ts';
import { ThreadPool } from '../threads/thread-pool.ts';
import { ThreadStopped, ThreadThrew } from '../threads/pooled-thread.ts';
import type { SchemaFunctions } from './schema-thread.ts';

/** A check did not come to an end: it took too long, too much memory, or went too deep. */
export class SchemaCheckStopped extends Error {
  override readonly name = 'SchemaCheckStopped';
}

export interface SchemaChecksOptions {
  readonly clock: Clock;
  readonly timeoutMs?: number;
  readonly memoryMb?: number;
}

const usualTimeoutMs = 1_000;
const usualMemoryMb = 256;
/** Two, so that one tenant's endless schema does not hold up all others. */
const threads = 2;
/** Generated schemas have some 10,000 characters; each is sent to a model, where this is some 60,000 tokens. */
const longestSchema = 262_144;

export class SchemaChecks {
  readonly #pool: ThreadPool<SchemaFunctions>;
  readonly #timeoutMs: number;

  constructor({ clock, timeoutMs = usualTimeoutMs, memoryMb = usualMemoryMb }: SchemaChecksOptions) {
    this.#timeoutMs = timeoutMs;
    this.#pool = new ThreadPool({
      entry: threadModule('./schema-thread', import.meta.url),
      clock,
      memoryMb,
      size: threads,
    });
  }

  /** What is wrong with the schema itself, as a sentence; null when it can be used. */
  async problemOf(schema: unknown, signal?: AbortSignal): Promise<string | null> {
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
      return 'It must be a JSON object.';
    const text = jsonOf(schema);
    if (text === undefined) return 'It is nested too deeply.';
    if (text.length > longestSchema)
      return `It is longer than ${longestSchema.toLocaleString('en')} characters.`;
    try {
      return await this.#pool.run('problemOf', text, { timeoutMs: this.#timeoutMs, signal });
    } catch (error) {
      if (error instanceof ThreadStopped) return `Using it ${this.#whatHappened(error)}.`;
      throw error;
    }
  }

  /** What is wrong with the value, in sentences; empty when it is valid. Fails with SchemaCheckStopped. */
  async violations(schema: unknown, value: unknown, signal?: AbortSignal): Promise<readonly string[]> {
    const text = jsonOf(value);
    if (text === undefined) return ['the value is nested too deeply'];
    try {
      return await this.#pool.run(
        'violations',
        { schema: JSON.stringify(schema), value: text },
        { timeoutMs: this.#timeoutMs, signal },
      );
    } catch (error) {
      if (error instanceof ThreadStopped)
        throw new SchemaCheckStopped(`Checking against it ${this.#whatHappened(error)}.`, { cause: error });
      if (error instanceof ThreadThrew)
        throw new SchemaCheckStopped(`Checking against it failed: ${error.message}.`, { cause: error });
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  #whatHappened({ reason }: ThreadStopped): string {
    if (reason === 'time') return `took longer than ${this.#timeoutMs} ms`;
    return reason === 'memory' ? 'took too much memory' : 'broke off';
  }
}

/** Undefined when it is too deep to be written. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
