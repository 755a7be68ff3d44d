// One run of one command: its flags, configuration, output and connection to a server.
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { Option } from 'commander';
import type { ApiArguments, ApiResponse, ApiRoute } from '../api/client.ts';
import { callApi } from '../api/client.ts';
import type { HeadworksClient } from '../app/client/session.ts';
import type { Config, ConfigInput } from '../config/index.ts';
import { listOptions, optionSections, resolveConfig, secretsOf } from '../config/index.ts';
import type { OptionSpec } from '../core/index.ts';
import { Redactor, shellWord } from '../core/index.ts';
import { Output } from './output.ts';
import type { CliIo } from './io.ts';

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
  /** `ledger list` */
  readonly command: string;
  readonly #globals: GlobalOptions;
  #config: Config | null = null;

  constructor(io: CliIo, command: string, globals: GlobalOptions) {
    this.io = io;
    this.out = new Output(io, globals);
    this.command = command;
    this.#globals = globals;
  }

  /** The configuration, resolved on first use. */
  get knownConfig(): Config | null {
    return this.#config;
  }

  /** Resolves the configuration and prints its warnings. `overrides`: values that the command itself demands. */
  config(overrides?: Readonly<Record<string, unknown>>): Config {
    const isFirst = this.#config === null;
    const config = resolveConfig({
      ...this.#input(),
      ...(overrides ? { overrides: { command: this.command, values: overrides } } : {}),
    });
    this.#config = config;
    for (const secret of secretsOf(config)) this.redactor.add(secret);
    if (isFirst) for (const warning of config.resolution.warnings) this.#warn(warning);
    return config;
  }

  /** The valid part of the configuration, and defaults for the rest. */
  validConfig(): Config {
    const config = resolveConfig({ ...this.#input(), isLenient: true });
    for (const secret of secretsOf(config)) this.redactor.add(secret);
    return config;
  }

  #input(): ConfigInput {
    const { flags, file } = this.#globals;
    return { flags, file, env: this.io.env, cwd: this.io.cwd };
  }

  /**
   * Runs `work` with a client of the server (with `key`, or as the admin), and closes it. `signal` cancels connecting and
   * calls; default: an interrupt does.
   */
  async withClient<T>(
    work: (client: HeadworksClient) => Promise<T>,
    { key, signal = this.io.signal }: { readonly key?: string; readonly signal?: AbortSignal } = {},
  ): Promise<T> {
    const client = await this.io.app.connect(this.config(), {
      purpose: `headworks ${this.command}`,
      signal,
      key,
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

  /** Makes one call. */
  call<Route extends ApiRoute>(route: Route, ...input: ApiArguments<Route>): Promise<ApiResponse<Route>> {
    return this.withClient((client) => callApi(client, route, ...input));
  }

  /** A command to paste: as this one was started, on the same data folder or server. */
  commandLine(words: string): string {
    const { 'data-dir': folder, server } = this.#globals.flags;
    return [
      invocation(this.io),
      words,
      ...(folder === undefined
        ? []
        : [`--data-dir ${folderArgument(this.io, resolve(this.io.cwd, folder))}`]),
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

const flagged = listOptions(optionSections).flatMap(({ section, spec }) =>
  spec.flag === undefined ? [] : [{ section, flag: spec.flag, spec }],
);

/** Flags that every command takes; the others belong to the commands that start a server, or to extraction. */
const everywhere = new Set(['data-dir', 'server', 'log-level']);
const ofExtraction = 'extraction';

/** Adds the flags that every command has. */
export function addGlobalFlags(program: Command): void {
  for (const { flag, spec } of flagged) if (everywhere.has(flag)) program.addOption(toOption(flag, spec));
}

interface ServerFlags {
  /** Of this command, where they differ. */
  readonly defaults?: Readonly<Record<string, string>>;
  /** Flags that mean nothing to it. */
  readonly without?: readonly string[];
}

/** Adds the flags for listening and logging. */
export function addServerFlags(
  command: Command,
  { defaults = {}, without = ['processes'] }: ServerFlags = {},
): void {
  for (const { section, flag, spec } of flagged)
    if (!everywhere.has(flag) && section !== ofExtraction && !without.includes(flag))
      command.addOption(toOption(flag, { ...spec, defaultText: defaults[flag] ?? spec.defaultText }));
}

/** Adds the flags of an extraction, without those that mean nothing to its source. */
export function addExtractionFlags(command: Command, without: readonly string[] = []): void {
  for (const { section, flag, spec } of flagged)
    if (section === ofExtraction && !without.includes(flag)) command.addOption(toOption(flag, spec));
}

/** What was given, by flag name, as `resolveConfig` expects it. */
export function givenFlags(command: Command): Readonly<Record<string, string>> {
  const values = command.optsWithGlobals<Record<string, unknown>>();
  const given: Record<string, string> = {};
  for (const { flag, spec } of flagged) {
    const value = values[toOption(flag, spec).attributeName()];
    if (typeof value === 'string') given[flag] = value;
    // Commander has `true` for a "--no-…" that was not given, and nothing for any other.
    else if (typeof value === 'boolean' && value !== spec.default) given[flag] = String(value);
  }
  return given;
}

// Commander neither checks nor defaults these values: config does, for all sources.
function toOption(flag: string, spec: OptionSpec<unknown>): Option {
  const fallback = spec.defaultText ?? String(spec.default);
  const turnsOff = spec.default === true ? 'do not ' : '';
  return new Option(
    words(flag, spec),
    `${turnsOff}${helpText(spec.describe)} (${spec.env.join(', ')}; default: ${fallback})`,
  );
}

/** A description in the style of --help: it starts in lower case and ends without a period. */
export const helpText = (text: string): string =>
  text.replace(/\.$/, '').replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase());

/** `--port <value>`, `--types <values>`, `--fresh`, `--no-adaptive`. */
function words(flag: string, spec: OptionSpec<unknown>): string {
  if (typeof spec.default === 'boolean') return spec.default ? `--no-${flag}` : `--${flag}`;
  return Array.isArray(spec.default) ? `--${flag} <values>` : `--${flag} <value>`;
}

const source = fileURLToPath(import.meta.url);

/** The command prefix as the user would type it. */
export function invocation({ env, cwd }: Pick<CliIo, 'env' | 'cwd'>): string {
  if (env['npm_lifecycle_event'] === 'npx') return 'npx headworks';
  if (env['npm_package_name'] === 'headworks') return 'npm run -s headworks --';
  if (!source.endsWith('.ts')) return 'headworks';
  return `node ${shellWord(shortPath(cwd, join(dirname(source), 'main.ts')))}`;
}

/** A folder as one word, relative where that is shorter. */
export const folderArgument = ({ cwd }: Pick<CliIo, 'cwd'>, folder: string): string =>
  shellWord(shortPath(cwd, folder));

function shortPath(from: string, path: string): string {
  const short = relative(from, path);
  return short === '' || short.startsWith('..') ? path : short;
}
