// What the command line uses of the process and of the application: main.ts passes the real ones, tests their own.
import type { Readable, Writable } from 'node:stream';
import type { RunningServer as AppServer, connect, StartServerOptions } from '../app/index.ts';
import type { Config } from '../config/index.ts';
import type { Clock } from '../core/index.ts';

export type RunningServer = Pick<AppServer, 'url' | 'newAdminToken' | 'stopped' | 'stop'>;

/** One implementation: app/index.ts; tests have doubles of it. */
export interface CliApp {
  readonly connect: typeof connect;
  startServer(config: Config, options: StartServerOptions): Promise<RunningServer>;
}

/** One implementation: main.ts; tests have doubles of it. */
export interface CliIo {
  readonly stdout: Writable;
  readonly stderr: NodeJS.WritableStream;
  /** Whether each stream is a terminal. */
  readonly isTty: { readonly stdin: boolean; readonly stdout: boolean; readonly stderr: boolean };
  /** Width of the terminal; `null`: lines have no maximum length. */
  readonly columns: number | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: Readable;
  /** Standard input to its end, as text. */
  readStdin(): Promise<string>;
  /** One line of standard input; empty at its end. */
  readLine(): Promise<string>;
  /** Aborts with an Interrupt on Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
  /** Aborts when stdout is closed (`| head`). */
  readonly outputClosed: AbortSignal;
  readonly clock: Clock;
  readonly version: string;
  readonly app: CliApp;
}

/** Why `CliIo.signal` aborted. */
export class Interrupt extends Error {
  override readonly name = 'Interrupt';
  readonly by: 'SIGINT' | 'SIGTERM' | 'SIGHUP';

  constructor(by: 'SIGINT' | 'SIGTERM' | 'SIGHUP') {
    super(`Stopped by ${by}.`);
    this.by = by;
  }
}
