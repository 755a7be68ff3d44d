// Redis and its connections in a simulation: latency, hanging and refused connections, stalled processes, lost data.
import type { Clock, Random } from '../../../src/core/index.ts';
import { CoreError } from '../../../src/core/index.ts';
import { MemorySlotStore } from '../../../src/tenancy/admission/memory-slot-store.ts';
import type { ProbeResult, SlotStore, StoreProbe } from '../../../src/tenancy/admission/types.ts';
import type { VirtualClock } from '../core/virtual-clock.ts';

/** The client gives up waiting for a reply after this time; Redis may still execute the call. */
const commandTimeoutMs = 1_000;

/** A process on virtual time that can be stalled or killed: its timers and replies are then late, or never come. */
export class SimulatedProcess implements Clock {
  readonly #clock: VirtualClock;
  #stalledUntil = 0;
  isDead = false;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  after(ms: number, run: () => void): () => void {
    let isCanceled = false;
    const cancel = this.#clock.after(ms, () => this.deliver(() => isCanceled || run()));
    return () => {
      isCanceled = true;
      cancel();
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const cancel = this.after(ms, resolve);
      signal?.addEventListener('abort', () => (cancel(), reject(signal.reason as Error)), { once: true });
    });
  }

  stall(ms: number): void {
    this.#stalledUntil = Math.max(this.#stalledUntil, this.monotonic() + ms);
  }

  /** Runs something that arrives at this process: now, at the end of the stall, or never. */
  deliver(run: () => void): void {
    if (this.isDead) return;
    const remainingMs = this.#stalledUntil - this.monotonic();
    if (remainingMs > 0) this.#clock.after(remainingMs, () => this.deliver(run));
    else run();
  }

  /** Settles with the result of `work` when this process can receive it: a stall delays it, a crash drops it. */
  receive<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      work.then(
        (value) => this.deliver(() => resolve(value)),
        (error: unknown) => this.deliver(() => reject(error)),
      );
    });
  }
}

/** The data of Redis; `flush` loses it. */
export class SimulatedRedis {
  readonly #options: ConstructorParameters<typeof MemorySlotStore>[0];
  store: MemorySlotStore;

  constructor(options: ConstructorParameters<typeof MemorySlotStore>[0]) {
    this.#options = options;
    this.store = new MemorySlotStore(options);
  }

  flush(): void {
    this.store = new MemorySlotStore(this.#options);
  }
}

export type LinkState = 'up' | 'hanging' | 'refused';

interface LinkDeps {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly redis: SimulatedRedis;
  readonly process: SimulatedProcess;
  /** The client noticed that the connection broke, or was established. */
  readonly onChange: (isUp: boolean) => void;
}

/** The connections of one server to Redis. Calls are executed, and replies arrive, in order. */
export class SimulatedLink {
  readonly #deps: LinkDeps;
  /** Added to the latency of every call. */
  slowMs = 0;
  state: LinkState = 'up';
  /** Since when the state is not `up`. */
  brokenSince: number | null = null;
  readonly #held: (() => void)[] = [];
  #lastExecution = 0;
  #lastReply = 0;
  /** Replies of an earlier connection are lost. */
  #connection = 0;
  readonly store: SlotStore;
  readonly probe: StoreProbe = { ping: () => this.#deps.process.receive(this.#ping()) };

  constructor(deps: LinkDeps) {
    this.#deps = deps;
    this.store = new Proxy(deps.redis.store, {
      get:
        (_, name: keyof SlotStore) =>
        (...args: unknown[]) =>
          deps.process.receive(
            this.#call(() => {
              const { store } = deps.redis;
              return (store[name] as (...all: unknown[]) => Promise<unknown>).apply(store, args);
            }),
          ),
    });
  }

  break(state: Exclude<LinkState, 'up'>): void {
    this.brokenSince ??= this.#deps.clock.monotonic();
    this.state = state;
    if (state === 'hanging') return;
    this.#connection++;
    for (const run of this.#held.splice(0)) run();
    this.#notify(false);
  }

  restore(): void {
    const wasRefused = this.state === 'refused';
    this.state = 'up';
    this.brokenSince = null;
    for (const run of this.#held.splice(0)) run();
    if (wasRefused) this.#notify(true);
  }

  #notify(isUp: boolean): void {
    this.#deps.process.deliver(() => this.#deps.onChange(isUp));
  }

  #call<T>(execute: () => Promise<T>): Promise<T> {
    const { clock } = this.#deps;
    if (this.state === 'refused') return Promise.reject(redisError('The connection is refused.'));
    const connection = this.#connection;
    return new Promise((resolve, reject) => {
      const cancelTimeout = clock.after(commandTimeoutMs, () => reject(redisError('No reply in time.')));
      const finish = (run: () => void) => {
        cancelTimeout();
        if (connection === this.#connection) run();
        else reject(redisError('The connection was lost.'));
      };
      const send = () => {
        this.#lastExecution = this.#later(this.#lastExecution, () => {
          if (connection !== this.#connection) return finish(() => undefined);
          if (this.state === 'hanging') return void this.#held.push(send);
          const reply = execute();
          this.#lastReply = this.#later(this.#lastReply, () => {
            reply.then(
              (value) => finish(() => resolve(value)),
              (error: unknown) => finish(() => reject(error)),
            );
          });
        });
      };
      if (this.state === 'hanging') this.#held.push(send);
      else send();
    });
  }

  /** After half a latency, and not before the one sent earlier; returns when. */
  #later(earliest: number, run: () => void): number {
    const { clock, random } = this.#deps;
    const at = Math.max(clock.monotonic() + random.next() * 2 + (this.slowMs * random.next()) / 2, earliest);
    clock.after(at - clock.monotonic(), run);
    return at;
  }

  async #ping(): Promise<ProbeResult> {
    const { clock, random } = this.#deps;
    if (this.state === 'refused') return { kind: 'refused', error: redisError('The connection is refused.') };
    const connection = this.#connection;
    if (this.state === 'hanging') await new Promise<void>((resolve) => this.#held.push(resolve));
    await clock.sleep(random.next() * 2 + this.slowMs * random.next());
    if (connection === this.#connection) return { kind: 'pong' };
    return { kind: 'failed', error: redisError('The connection was lost.') };
  }
}

const redisError = (message: string): CoreError =>
  new CoreError('REDIS_UNAVAILABLE', message, { isRetryable: true });
