// A command of the program, and helpers that several commands use.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { parse } from 'yaml';
import { CoreError, messageOf, onAbort } from '../core/index.ts';
import type { ExitCode } from './exit-codes.ts';
import { exitCodes, UsageError } from './exit-codes.ts';
import type { CliIo } from './io.ts';
import { Interrupt } from './io.ts';
import { CliSession, commandName, globalOptions } from './session.ts';

/** The state of one run of the program. */
export interface CliContext {
  readonly io: CliIo;
  session: CliSession | null;
  exitCode: ExitCode;
  /** The command whose arguments are invalid; absent for the program itself. */
  invalidCommand?: CliCommand;
}

/** A module in commands/: adds options, arguments and subcommands to the command of its name. */
export type Register = (command: CliCommand) => void;

export type Action<Options> = (
  session: CliSession,
  options: Options,
  args: readonly string[],
) => Promise<ExitCode | void>;

/** A command of the program; its subcommands have the same context. */
export class CliCommand extends Command {
  readonly context: CliContext;
  #examples: readonly string[] = [];

  constructor(context: CliContext, name?: string) {
    super(name);
    this.context = context;
  }

  override createCommand(name?: string): CliCommand {
    return new CliCommand(this.context, name);
  }

  /** Shows these lines at the end of `--help`. */
  examples(lines: readonly string[]): this {
    this.#examples = lines;
    return this;
  }

  /** A group shows the first example of its first three subcommands. */
  get shownExamples(): readonly string[] {
    if (this.#examples.length > 0) return this.#examples;
    return (this.commands as readonly CliCommand[])
      .slice(0, 3)
      .flatMap((each) => each.shownExamples.slice(0, 1));
  }

  /** Runs `work` when the command is called; without a result the exit code is 0. */
  run<Options>(work: Action<Options>): void {
    this.action(async () => {
      const { context } = this;
      const session = new CliSession(context.io, commandName(this), globalOptions(this));
      context.session = session;
      const options = this.opts<Record<string, unknown>>() as Options;
      context.exitCode =
        (await work(session, options, this.processedArgs.flat() as string[])) ?? exitCodes.ok;
    });
  }
}

/** An id for examples. */
export const exampleId = '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b';

/** For commander: a whole number in the range. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max))
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    return value;
  };
}

export const forceOption = (): Option => new Option('--force', 'do not ask for confirmation');

/** Asks on stderr and reads one line; only y or yes confirms. Fails with --json, which cannot ask. */
export async function confirm({ io, out }: CliSession, question: string): Promise<boolean> {
  if (out.isJson) throw new UsageError('With --json there is no confirmation: use --force.');
  io.stderr.write(`${question} [y/N]: `);
  const answer = await io.readLine();
  // On a terminal the answer ends with a line break; piped input is not visible.
  if (!io.isTty.stdin) io.stderr.write('\n');
  return /^\s*y(es)?\s*$/i.test(answer);
}

/** Waits for an interrupt; returns the exit code: 130 after Ctrl-C, 0 after SIGTERM. */
export async function untilInterrupted({ signal }: Pick<CliIo, 'signal'>): Promise<ExitCode> {
  await new Promise<void>((done) => onAbort(signal, () => done()));
  return interruptExitCode(signal);
}

export const interruptExitCode = ({ reason }: AbortSignal): ExitCode =>
  reason instanceof Interrupt && reason.by === 'SIGINT' ? exitCodes.interrupted : exitCodes.ok;

/** Reads YAML, of which JSON is a part. Fails with INPUT_INVALID, naming the file. */
export async function readYamlFile({ io }: CliSession, file: string): Promise<unknown> {
  const path = resolve(io.cwd, file);
  try {
    return parse(await readFile(path, 'utf8')) as unknown;
  } catch (error) {
    throw new CoreError(
      'INPUT_INVALID',
      `The file ${path} cannot be read as YAML: ${messageOf(error).split('\n')[0] ?? ''}`,
      { cause: error },
    );
  }
}
