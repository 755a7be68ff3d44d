// What registering a command takes: hooking its work to commander, and giving it examples.
import type { Command } from 'commander';
import type { ExitCode } from './exit-codes.ts';
import type { CliIo } from './ports.ts';
import { CliSession, commandName, globalOptions } from './session.ts';

/** Reports to the caller of the program what ran and how it ended. */
export interface CommandHost {
  readonly io: CliIo;
  session: CliSession | null;
  exitCode: ExitCode;
  /** The command whose arguments could not be read: `limits set`; absent for the program itself. */
  misread?: string;
}

export type CommandWork<Options> = (
  session: CliSession,
  options: Options,
  args: readonly string[],
) => Promise<ExitCode>;

/** Runs `work` as the command's action. The type of its options matches their declaration. */
export function act<Options>(host: CommandHost, command: Command, work: CommandWork<Options>): void {
  command.action(async () => {
    const session = new CliSession(host.io, commandName(command), globalOptions(command));
    host.session = session;
    host.exitCode = await work(session, command.opts<Record<string, unknown>>() as Options, command.args);
  });
}

/** Shows these lines at the end of `--help`. */
export function examples(command: Command, lines: readonly string[]): void {
  const title = lines.length === 1 ? 'Example' : 'Examples';
  command.addHelpText('after', `\n${title}:\n${lines.map((line) => `  $ ${line}`).join('\n')}`);
}
