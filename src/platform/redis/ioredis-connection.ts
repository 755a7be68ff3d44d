// The Redis port on ioredis.
import type { Redis } from 'ioredis';
import { Command } from 'ioredis';
import type { CoreError } from '../../core/errors.ts';
import type { RedisConnection, RedisSending, RedisState } from './ports.ts';
import { redisError, unavailable } from './redis-errors.ts';
import { unfitness } from './redis-fitness.ts';
import type { RedisScript } from './redis-script.ts';
import { ScriptRunner } from './redis-script.ts';

/** How long a server that is connected but unfit is left alone. */
const lookAgainMs = 2_000;

export class IoredisConnection implements RedisConnection {
  readonly address: string;
  readonly #client: Redis;
  readonly #keyPrefix: string;
  readonly #scripts: Readonly<Record<RedisSending, ScriptRunner>>;
  readonly #listeners = new Set<(state: RedisState) => void>();
  #state: RedisState = 'down';
  #refusal: CoreError | undefined;

  constructor(client: Redis, address: string, keyPrefix: string) {
    this.#client = client;
    this.address = address;
    this.#keyPrefix = keyPrefix;
    const load = (source: string) => client.script('LOAD', source);
    this.#scripts = {
      together: new ScriptRunner({
        load,
        evalsha: (sha, keys, args) => client.evalsha(sha, keys.length, ...keys, ...args),
      }),
      // Only the client's own methods pipeline by themselves.
      'at-once': new ScriptRunner({
        load,
        evalsha: (sha, keys, args) =>
          client.sendCommand(
            new Command('evalsha', [sha, keys.length, ...keys, ...args], { replyEncoding: 'utf8' }),
          ) as Promise<unknown>,
      }),
    };
    // Without a listener an error event would end the process; what it means is told by the state and by each call.
    client.on('error', () => undefined);
    client.on('ready', () => void this.inspect());
    client.on('close', () => this.#change('down'));
    client.on('end', () => this.#change('down'));
  }

  get state(): RedisState {
    return this.#state;
  }

  key(name: string): string {
    return this.#keyPrefix + name;
  }

  run(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
    sending: RedisSending = 'together',
  ): Promise<unknown> {
    return this.#guarded(() => this.#scripts[sending].run(script, keys, args));
  }

  command(name: string, args: readonly (string | number)[]): Promise<unknown> {
    return this.#guarded(() => this.#client.call(name, ...args));
  }

  async ping(): Promise<void> {
    await this.#guarded(() => this.#client.ping());
  }

  onStateChange(listener: (state: RedisState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): Promise<void> {
    if (this.#state !== 'closed') {
      this.#change('closed');
      this.#client.disconnect();
    }
    return Promise.resolve();
  }

  /** Asked after every connect, for a failover may put another server in its place; only a fit one is `up`. */
  async inspect(): Promise<CoreError | undefined> {
    try {
      await this.#selectDatabase();
      this.#refusal = unfitness(await this.#client.info(), this.address);
    } catch (error) {
      this.#refusal = redisError(error, this.address);
    }
    if (this.#refusal) this.#lookAgainLater();
    else if (this.#client.status === 'ready') this.#change('up');
    return this.#refusal;
  }

  /** ioredis asks for it too, but goes on in database 0 when that is refused. */
  async #selectDatabase(): Promise<void> {
    const { db = 0 } = this.#client.options;
    if (db !== 0) await this.#client.select(db);
  }

  /** A replica may be made the primary, or the address lead elsewhere: a new connection finds out. */
  #lookAgainLater(): void {
    const connectAgain = () => {
      if (this.#state === 'down' && this.#client.status === 'ready') this.#client.disconnect(true);
    };
    setTimeout(connectAgain, lookAgainMs).unref();
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    if (this.#state === 'closed') throw unavailable(this.address, 'our connection was closed');
    if (this.#state === 'down') throw this.#refusal ?? unavailable(this.address, 'there is no connection');
    try {
      return await work();
    } catch (error) {
      throw redisError(error, this.address);
    }
  }

  #change(state: RedisState): void {
    if (this.#state === state || this.#state === 'closed') return;
    this.#state = state;
    for (const listener of this.#listeners) listener(state);
  }
}
