// The main process's side of `serve --processes`: it accepts connections and hands them out in turn, to itself and to its
// gateway processes, whose stores it serves, whose events it emits as its own, and which it replaces when they end.
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import type { Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../../config/index.ts';
import type { Clock } from '../../core/index.ts';
import { CoreError, abortable, messageOf } from '../../core/index.ts';
import type { GatewayStores } from '../../gateway/index.ts';
import type { GaugeSpec } from '../../platform/telemetry/metrics.ts';
import { threadModule } from '../../platform/threads/thread-pool.ts';
import type { AppEvents, Telemetry } from '../telemetry.ts';
import type { Call, FromProcess, Outcome, ProcessSettings, ToProcess } from './protocol.ts';
import { sentError } from './protocol.ts';

const maxProcesses = 64;

/** Of a server, this one included. */
export function processCount({ server }: Pick<Config, 'server'>): number {
  return server.processes === 'auto'
    ? Math.min(availableParallelism(), maxProcesses)
    : Number(server.processes);
}

/** Delay before a process that ended is replaced: doubled each time, until one has run for a minute. */
const firstRestartMs = 500;
const maxRestartMs = 30_000;
const stableMs = 60_000;
/** After the grace period: for what is buffered to be written. */
const closeMs = 10_000;

/** What gateway processes may call here, by name. */
export type ServedObjects = Readonly<Record<string, object>>;

export interface GatewayProcessesDeps {
  readonly clock: Clock;
  readonly events: Telemetry['events'];
  /** Without this one. */
  readonly count: number;
  readonly objects: ServedObjects;
  readonly changes: GatewayStores['changes'];
}

interface Load {
  readonly inFlight: number;
  readonly queued: number;
}

interface Running {
  readonly child: ChildProcess;
  isReady: boolean;
  load: Load;
  /** The connection that the process has not confirmed yet, and those that follow. */
  handing: Socket | undefined;
  readonly queued: Socket[];
}

const noLoad: Load = { inFlight: 0, queued: 0 };

export class GatewayProcesses {
  readonly #deps: GatewayProcessesDeps;
  readonly #running = new Set<Running>();
  /** Takes the connections of the server's address. Paused until it is known which process reads them. */
  readonly #acceptor: Server;
  readonly #cancelRestarts = new Set<() => void>();
  #settings: ProcessSettings | undefined;
  #here: FastifyInstance | undefined;
  #unwatch: (() => Promise<void>) | undefined;
  #turn = 0;
  #isStopping = false;

  constructor(deps: GatewayProcessesDeps) {
    this.#deps = deps;
    this.#acceptor = createServer(
      { pauseOnConnect: true, allowHalfOpen: true, noDelay: true },
      (socket: Socket) => this.#handOut(socket),
    );
  }

  get acceptor(): Server {
    return this.#acceptor;
  }

  /** Including this one. */
  get count(): number {
    return 1 + [...this.#running].filter(({ isReady }) => isReady).length;
  }

  get gauge(): GaugeSpec {
    return {
      name: 'headworks_server_processes',
      help: 'Processes that accept requests of this server, with "serve --processes"; this one included.',
      labels: [],
      collect: () => [{ labels: {}, value: this.count }],
    };
  }

  /** Of the gateway processes. */
  load(): Load {
    const loads = [...this.#running].map(({ load }) => load);
    return {
      inFlight: loads.reduce((sum, { inFlight }) => sum + inFlight, 0),
      queued: loads.reduce((sum, { queued }) => sum + queued, 0),
    };
  }

  /** `here` gets its share of the connections. Resolves when every process is ready; fails when one cannot start. */
  async start(here: FastifyInstance, settings: ProcessSettings, signal?: AbortSignal): Promise<void> {
    this.#here = here;
    this.#settings = settings;
    this.#unwatch = await this.#deps.changes.watch((topic) => {
      for (const { child } of this.#running) send(child, { kind: 'changed', topic });
    });
    const starts = Array.from({ length: this.#deps.count }, () => this.#startOne(0, true));
    await abortable(Promise.all(starts), signal);
  }

  /** Each finishes its requests within `graceMs`, writes what it has buffered and ends; one that does not is killed. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    for (const cancel of this.#cancelRestarts) cancel();
    const ends = [...this.#running].map(async ({ child }) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      // Its last messages may arrive after its exit.
      const ended = Promise.all([once(child, 'exit'), child.connected ? once(child, 'disconnect') : []]);
      const cancel = this.#deps.clock.after(graceMs + closeMs, () => child.kill('SIGKILL'));
      send(child, { kind: 'stop', graceMs });
      await ended;
      cancel();
    });
    await Promise.all(ends);
    await this.#unwatch?.();
  }

  /** Connections are accepted until here, and get the responses of a server that stops. */
  close(): void {
    this.#acceptor.close();
  }

  /** In turn. While the server stops this process takes all: it says so, in its own words. */
  #handOut(socket: Socket): void {
    const others = this.#isStopping ? [] : [...this.#running].filter(({ isReady }) => isReady);
    const chosen = others[this.#turn++ % (others.length + 1)];
    if (chosen) {
      chosen.queued.push(socket);
      this.#handNext(chosen);
      return;
    }
    this.#here?.server.emit('connection', socket);
    socket.resume();
  }

  /** One after the other: Node has a queue of its own, but loses it when the process ends. */
  #handNext(running: Running): void {
    if (running.handing) return;
    running.handing = running.queued.shift();
    if (running.handing) send(running.child, { kind: 'connection' }, running.handing);
  }

  #onTaken(running: Running): void {
    // The process has a handle of its own.
    running.handing?.destroy();
    running.handing = undefined;
    this.#handNext(running);
  }

  /** The process may have read from the connection that was being handed over: its client must send again. */
  #handOutAgain(running: Running): void {
    running.handing?.destroy();
    for (const socket of running.queued.splice(0)) this.#handOut(socket);
  }

  async #startOne(restarts: number, isFirst: boolean): Promise<void> {
    const { clock, events } = this.#deps;
    if (!this.#settings) return;
    const startedAt = clock.monotonic();
    const child = fork(fileURLToPath(threadModule('./gateway-process', import.meta.url)), [], {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const running: Running = { child, isReady: false, load: noLoad, handing: undefined, queued: [] };
    this.#running.add(running);
    const started = Promise.withResolvers<void>();
    child.on('message', (message) => {
      const received = message as FromProcess;
      if (received.kind === 'call') void this.#answer(child, received);
      else if (received.kind === 'taken') this.#onTaken(running);
      else if (received.kind === 'report') {
        running.load = received.load;
        for (const [name, payload] of received.events) events.emit(name as keyof AppEvents, payload as never);
      } else {
        running.isReady = true;
        const startedInMs = Math.round(clock.monotonic() - startedAt);
        events.emit('server:process-started', { pid: child.pid ?? 0, startedInMs });
        started.resolve();
      }
    });
    let hasEnded = false;
    const onEnd = (cause: string): void => {
      if (hasEnded) return;
      hasEnded = true;
      this.#running.delete(running);
      if (isFirst && !running.isReady) started.reject(cannotStart(cause));
      else if (!this.#isStopping) {
        const count = clock.monotonic() - startedAt >= stableMs ? 0 : restarts;
        this.#restart(child.pid ?? 0, cause, count);
      }
    };
    child.on('close', () => this.#handOutAgain(running));
    child.on('exit', (code, signal) => onEnd(signal ?? `exit code ${code}`));
    child.on('error', (error) => {
      // A message that could not be sent is an error, too.
      if (child.pid === undefined) onEnd(messageOf(error));
    });
    send(child, { kind: 'start', settings: this.#settings });
    if (isFirst) await started.promise;
  }

  #restart(pid: number, cause: string, restarts: number): void {
    const restartInMs = Math.min(firstRestartMs * 2 ** restarts, maxRestartMs);
    this.#deps.events.emit('server:process-ended', { pid, cause, restartInMs });
    const cancel = this.#deps.clock.after(restartInMs, () => {
      this.#cancelRestarts.delete(cancel);
      void this.#startOne(restarts + 1, false);
    });
    this.#cancelRestarts.add(cancel);
  }

  async #answer(child: ChildProcess, { id, object, method, args }: Call): Promise<void> {
    const reply = (outcome: Outcome) => send(child, { kind: 'reply', id, ...outcome });
    try {
      const target = this.#deps.objects[object] as Readonly<Record<string, unknown>> | undefined;
      const called = target?.[method];
      if (typeof called !== 'function') throw new TypeError(`There is no ${object}.${method}.`);
      reply({ value: await (called.apply(target, args) as unknown) });
    } catch (error) {
      reply({ error: sentError(error) });
    }
  }
}

/** To a process that has just ended, nothing is sent; its end is handled where it is reported. */
function send(child: ChildProcess, message: ToProcess, socket?: Socket): void {
  if (child.connected) child.send(message, socket, { keepOpen: true }, () => undefined);
}

const cannotStart = (cause: string): CoreError =>
  new CoreError(
    'INTERNAL',
    `A process of the gateway could not start (${cause}). Its own message is above; --processes 1 starts none.`,
  );
