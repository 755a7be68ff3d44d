// The command line with test doubles for streams, server, clock and signals.
import { Readable, Writable } from 'node:stream';
import type { CallOptions, HeadworksClient, StreamedEvent } from '../../src/app/client/session.ts';
import type { ExitCode } from '../../src/cli/exit-codes.ts';
import type { CliApp, CliIo, RunningServer } from '../../src/cli/io.ts';
import { Interrupt } from '../../src/cli/io.ts';
import { buildProgram, runCli } from '../../src/cli/program.ts';
import type { Config } from '../../src/config/index.ts';
import { abortable } from '../../src/core/index.ts';
import { VirtualClock } from './core/virtual-clock.ts';

export interface FakeCall extends CallOptions {
  readonly method: string;
  readonly path: string;
}

export interface CliWorldOptions {
  /** The response of the server; what it throws is thrown by the client. */
  readonly answer?: (call: FakeCall) => unknown;
  /** `reconnect`: the stream was interrupted here. */
  readonly events?: readonly (StreamedEvent | 'reconnect')[];
  /** The streamed response. */
  readonly streamed?: {
    readonly headers: Readonly<Record<string, string>>;
    readonly data: readonly string[];
  };
  readonly isOwnServer?: boolean;
  readonly connectFails?: Error;
  /** Connecting takes forever; only the signal ends it. */
  readonly connectHangs?: boolean;
  readonly startServer?: CliApp['startServer'];
  readonly isTty?: boolean;
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly stdin?: string;
}

export class CliWorld {
  readonly clock = new VirtualClock(Date.parse('2026-03-01T12:00:00Z'));
  readonly calls: FakeCall[] = [];
  readonly configs: Config[] = [];
  /** The key of each client; undefined: as the admin. */
  readonly keys: (string | undefined)[] = [];
  openClients = 0;
  out = '';
  err = '';
  readonly #interrupt = new AbortController();
  readonly #outputClosed = new AbortController();
  readonly #options: CliWorldOptions;

  constructor(options: CliWorldOptions = {}) {
    this.#options = options;
  }

  /** Runs one command line; virtual time advances as needed. */
  run(...args: string[]): Promise<ExitCode> {
    return this.clock.run(this.start(...args));
  }

  /** The same, without advancing the clock. */
  start(...args: string[]): Promise<ExitCode> {
    return runCli(args, this.io);
  }

  interrupt(by: Interrupt['by'] = 'SIGINT'): void {
    this.#interrupt.abort(new Interrupt(by));
  }

  closeOutput(): void {
    this.#outputClosed.abort();
  }

  get io(): CliIo {
    const { isTty = false, columns = null, env = {}, cwd = '/nonexistent-for-tests' } = this.#options;
    return {
      stdout: sink((text) => (this.out += text), isTty),
      stderr: sink((text) => (this.err += text), isTty),
      isTty: { stdin: isTty, stdout: isTty, stderr: isTty },
      columns,
      env,
      cwd,
      stdin: Readable.from(this.#options.stdin === undefined ? [] : [Buffer.from(this.#options.stdin)]),
      readStdin: async () => this.#options.stdin ?? '',
      readLine: async () => this.#options.stdin?.split('\n')[0] ?? '',
      signal: this.#interrupt.signal,
      outputClosed: this.#outputClosed.signal,
      clock: this.clock,
      version: '1.2.3',
      app: {
        connect: (config, { key, signal }) => {
          this.keys.push(key);
          if (this.#options.connectHangs) return abortable(new Promise<never>(() => undefined), signal);
          return Promise.resolve(this.#connect(config));
        },
        startServer: (config, options) => {
          this.configs.push(config);
          return (this.#options.startServer ?? (() => Promise.resolve(fakeServer())))(config, options);
        },
      },
    };
  }

  #connect(config: Config): HeadworksClient {
    this.configs.push(config);
    if (this.#options.connectFails) throw this.#options.connectFails;
    const { answer, events = [], isOwnServer = false } = this.#options;
    this.openClients += 1;
    return {
      url: 'http://127.0.0.1:8420',
      isOwnServer,
      call: async <T>(method: string, path: string, options: CallOptions = {}) => {
        const call = { method, path, ...options };
        this.calls.push(call);
        return (await answer?.(call)) as T;
      },
      stream: async (path, body) => {
        const call = { method: 'POST', path, body };
        this.calls.push(call);
        await answer?.(call);
        const { headers, data } = this.#options.streamed ?? { headers: {}, data: [] };
        // oxlint-disable-next-line typescript/require-await -- the interface is a stream
        const each = async function* () {
          yield* data;
        };
        return { headers, data: each() };
      },
      download: async (path, body) => {
        const call = { method: 'POST', path, body };
        this.calls.push(call);
        return (await answer?.(call)) as AsyncIterable<Uint8Array>;
      },
      // oxlint-disable-next-line typescript/require-await -- the interface is a stream
      async *events(signal, onReconnect) {
        for (const event of events) {
          if (signal.aborted) return;
          if (event === 'reconnect') onReconnect?.();
          else yield event;
        }
      },
      close: () => Promise.resolve(void (this.openClients -= 1)),
    };
  }
}

/** A server that runs until it is stopped. */
export function fakeServer(
  parts: Partial<RunningServer> = {},
): RunningServer & { readonly stops: () => number } {
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  let stops = 0;
  return {
    url: 'http://127.0.0.1:8420',
    newAdminToken: null,
    stopped,
    stop: () => {
      stops += 1;
      resolve();
      return Promise.resolve();
    },
    stops: () => stops,
    ...parts,
  };
}

// Commands are imported on first use; here in advance, so that no test waits for it.
await buildProgram({ io: new CliWorld().io, session: null, exitCode: 0 });

function sink(take: (text: string) => void, isTTY: boolean): Writable {
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      take(chunk);
      done();
    },
  });
  return Object.assign(stream, isTTY ? { isTTY, columns: 80 } : {});
}
