// One run of one command: its flags, its configuration, its way to speak, its way to a server.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { HeadworksClient } from '../app/client/session.ts';
import type { Config, ConfigInput } from '../config/index.ts';
import { resolveConfig, secretsOf } from '../config/index.ts';
import { Redactor, shellWord } from '../core/index.ts';
import { folderWord, invocation } from './invocation.ts';
import { givenFlags } from './option-flags.ts';
import { Output } from './output.ts';
import type { CliIo } from './ports.ts';

export interface GlobalOptions {
  readonly json: boolean;
  readonly color: boolean;
  /** The file given with --config. */
  readonly file: string | undefined;
  readonly flags: Readonly<Record<string, string>>;
}

export class CliSession {
  readonly io: CliIo;
  readonly out: Output;
  readonly redactor = new Redactor();
  readonly #command: string;
  readonly #globals: GlobalOptions;
  #config: Config | null = null;

  constructor(io: CliIo, command: string, globals: GlobalOptions) {
    this.io = io;
    this.out = new Output(io, globals);
    this.#command = command;
    this.#globals = globals;
  }

  /** The configuration once somebody asked for it. */
  get knownConfig(): Config | null {
    return this.#config;
  }

  /** Resolves the configuration and says its warnings. `insist` gives values the command does not negotiate. */
  config(insist?: Readonly<Record<string, unknown>>): Config {
    const isFirst = this.#config === null;
    const config = resolveConfig({
      ...this.#input(),
      ...(insist ? { insist: { command: this.#command, values: insist } } : {}),
    });
    this.#config = config;
    for (const secret of secretsOf(config)) this.redactor.add(secret);
    if (isFirst) for (const warning of config.resolution.warnings) this.#warn(warning);
    return config;
  }

  /** What is valid of the configuration, and defaults for the rest. */
  validConfig(): Config {
    const config = resolveConfig({ ...this.#input(), forgives: true });
    for (const secret of secretsOf(config)) this.redactor.add(secret);
    return config;
  }

  #input(): ConfigInput {
    const { flags, file } = this.#globals;
    return { flags, file, env: this.io.env, cwd: this.io.cwd };
  }

  /**
   * Runs `work` as a client of the server (with `key`, or as the admin), and leaves whatever happens. `signal`: how long
   * to look for a server; default: until somebody interrupts.
   */
  async withClient<T>(
    work: (client: HeadworksClient) => Promise<T>,
    key?: string,
    signal = this.io.signal,
  ): Promise<T> {
    const client = await this.io.app.connect(this.config(), {
      purpose: `headworks ${this.#command}`,
      signal,
      ...(key === undefined ? {} : { key }),
      onWaitingForOthers: (attached) =>
        this.out.note(
          `Done. ${attached} other ${attached === 1 ? 'command uses' : 'commands use'} the server that this one started; ` +
            'waiting for them. Ctrl-C stops it for all.',
        ),
    });
    try {
      return await work(client);
    } finally {
      await client.close();
    }
  }

  /** A command to paste: as this one was started, on the same data folder or server. */
  commandLine(words: string): string {
    const { 'data-dir': folder, server } = this.#globals.flags;
    return [
      invocation(this.io),
      words,
      ...(folder === undefined ? [] : [`--data-dir ${folderWord(this.io, resolve(this.io.cwd, folder))}`]),
      ...(server === undefined ? [] : [`--server ${shellWord(server)}`]),
    ].join(' ');
  }

  #warn(warning: string): void {
    const text = this.redactor.text(warning);
    const line = this.out.isJson
      ? JSON.stringify({ warning: { message: text } })
      : `headworks: warning: ${text}`;
    this.io.stderr.write(`${line}\n`);
  }
}

/** `ledger list` */
export function commandName(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at?.parent; at = at.parent) names.unshift(at.name());
  return names.join(' ');
}

/** What was given on the command line to this command or to the program. */
export function globalOptions(command: Command): GlobalOptions {
  const { json, color, config } = command.optsWithGlobals<{
    json?: boolean;
    color?: boolean;
    config?: string;
  }>();
  return { json: json ?? false, color: color ?? true, file: config, flags: givenFlags(command) };
}
