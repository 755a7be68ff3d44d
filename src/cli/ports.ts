// What the command line needs of the world and of the application; main.ts plugs in the real ones, tests their own.
import type { Readable, Writable } from 'node:stream';
import type { HeadworksClient } from '../app/client/session.ts';
import type { Config } from '../config/index.ts';
import type { Clock } from '../core/index.ts';

export type StartRole = 'serve' | 'worker' | 'demo';

export interface RunningServer {
  /** Where it listens; `null` for a worker that listens nowhere. */
  readonly url: string | null;
  /** Set only when this start generated the admin token: the one time it is shown. */
  readonly newAdminToken: string | null;
  /** Resolves when it has stopped, for whatever reason; rejects when it broke. */
  readonly stopped: Promise<void>;
  /** Drains and stops. Safe to call twice. */
  stop(): Promise<void>;
}

export interface AppPort {
  /** A client of the server of this configuration, which becomes one itself when none runs. */
  connect(
    config: Config,
    options: {
      /** The command line for display. */
      readonly purpose: string;
      readonly signal: AbortSignal;
      /** Called when this process stays only because others still use its server. */
      readonly onWaitingForOthers: (attached: number) => void;
      /** Calls are made with this key; default: as the admin. */
      readonly key?: string;
    },
  ): Promise<HeadworksClient>;
  /** Starts and is ready when it resolves. What it has to say on the way goes to `announce`, a sentence each. */
  startServer(
    config: Config,
    options: {
      readonly role: StartRole;
      readonly announce: (sentence: string) => void;
      readonly signal: AbortSignal;
      /** Where keys and secrets are; default: the environment of this process. */
      readonly env?: Readonly<Record<string, string | undefined>>;
    },
  ): Promise<RunningServer>;
}

export interface CliIo {
  readonly stdout: Writable;
  readonly stderr: NodeJS.WritableStream;
  /** Whether stdout, stderr and stdin are terminals. */
  readonly isTty: { readonly stdin: boolean; readonly stdout: boolean; readonly stderr: boolean };
  /** Width of the terminal; `null` when there is none, and lines may be as long as they like. */
  readonly columns: number | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** For who reads it as it comes. */
  readonly stdin: Readable;
  /** Everything that comes on standard input, as text. */
  readStdin(): Promise<string>;
  /** One line of standard input; empty when there is none. */
  readLine(): Promise<string>;
  /** Aborts with an Interrupt on Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
  /** Aborts when stdout is closed (`| head`). */
  readonly outputClosed: AbortSignal;
  readonly clock: Clock;
  readonly version: string;
  readonly app: AppPort;
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
