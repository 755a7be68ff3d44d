// Runs one command line from beginning to end and gives its exit code. Never throws.
import type { Command } from 'commander';
import { CommanderError } from 'commander';
import type { CommandHost } from './command-host.ts';
import type { ExitCode } from './exit-codes.ts';
import { exitCodes } from './exit-codes.ts';
import type { CliIo } from './ports.ts';
import { buildProgram } from './program.ts';
import { reportError, UsageError } from './report-error.ts';
import { nearest } from '../core/index.ts';

/** `args` without the interpreter and the script. */
export async function runCli(args: readonly string[], io: CliIo): Promise<ExitCode> {
  const host: CommandHost = { io, session: null, exitCode: exitCodes.ok };
  const program = buildProgram(io, host);
  try {
    await program.parseAsync([...args], { from: 'user' });
    return host.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return exitCodes.ok;
      // Help was shown because no command was named: that says enough.
      if (error.code === 'commander.help') return exitCodes.usage;
    }
    const { session, misread: command = '' } = host;
    const context = { isJson: session?.out.isJson ?? args.includes('--json'), session, command };
    return reportError(clarify(error, program, args), io, context);
  }
}

/** `headworks ledger lst`: commander takes "lst" for an argument of the default command and cannot suggest. */
function clarify(error: unknown, program: Command, args: readonly string[]): unknown {
  if (!(error instanceof CommanderError) || error.code !== 'commander.excessArguments') return error;
  const words = args.filter((word) => !word.startsWith('-'));
  for (const group of program.commands) {
    const typed = words[words.indexOf(group.name()) + 1];
    const names = group.commands.map((command) => command.name());
    if (names.length === 0 || !words.includes(group.name()) || typed === undefined || names.includes(typed))
      continue;
    const meant = nearest(typed, names);
    return new UsageError(
      `unknown command "${group.name()} ${typed}"; ` +
        (meant === undefined ? `there are ${names.join(', ')}.` : `did you mean "${group.name()} ${meant}"?`),
    );
  }
  return error;
}
