// Checks a Redis on its own connection, apart from the connection whose calls it explains.
import { Redis } from 'ioredis';
import type { CoreError } from '../../core/errors.ts';
import { redisAddress, redisError } from './connection.ts';

export interface RedisProbeOptions {
  readonly url: string;
  /** In front of the key of the test write. Default: nothing. */
  readonly keyPrefix?: string;
}

/**
 * `pong`: Redis replies and accepts writes. `refused`: nothing listens at its address. `failed`: the connection broke,
 * or Redis replied with an error (loading, out of memory, read-only).
 */
export type RedisProbeResult =
  | { readonly kind: 'pong' }
  | { readonly kind: 'refused' | 'failed'; readonly error: CoreError };

export class RedisProbe {
  readonly #options: RedisProbeOptions;
  readonly #address: string;
  #connection: { readonly client: Redis; readonly errors: Error[]; isBusy: boolean } | null = null;

  constructor(options: RedisProbeOptions) {
    this.#options = options;
    this.#address = redisAddress(options.url);
  }

  /** Stays pending while Redis does not reply. A further call gives up on the pending one and connects again. */
  async ping(): Promise<RedisProbeResult> {
    if (this.#connection?.isBusy === true) this.close();
    const connection = (this.#connection ??= this.#open());
    connection.isBusy = true;
    const { client, errors } = connection;
    try {
      if (client.status === 'wait') await client.connect();
      await client.ping();
      // A Redis that is full or read-only still replies to PING.
      await client.set(`${this.#options.keyPrefix ?? ''}probe`, '1', 'EX', 60);
      return { kind: 'pong' };
    } catch (error) {
      if (this.#connection === connection) this.close();
      // The event has the reason; the rejection often has only "connection is closed".
      const cause = errors[0] ?? error;
      const kind = codeOf(cause) === 'ECONNREFUSED' ? 'refused' : 'failed';
      return { kind, error: redisError(cause, this.#address) };
    } finally {
      connection.isBusy = false;
    }
  }

  close(): void {
    this.#connection?.client.disconnect();
    this.#connection = null;
  }

  #open() {
    const client = new Redis(this.#options.url, {
      lazyConnect: true,
      // A loading Redis must reply with its error instead of being waited for.
      enableReadyCheck: false,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      retryStrategy: () => null,
    });
    const errors: Error[] = [];
    client.on('error', (error: Error) => errors.push(error));
    return { client, errors, isBusy: false };
  }
}

const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown } | null)?.code;
