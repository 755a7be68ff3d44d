// Tells what went wrong: one line with what happened and what to do, JSON with --json, a stack only at debug level.
import { CommanderError } from 'commander';
import { HeadworksError, messageOf, Redactor } from '../core/index.ts';
import type { ExitCode } from './exit-codes.ts';
import { exitCodeOf, exitCodes } from './exit-codes.ts';
import type { CliIo } from './ports.ts';
import { Interrupt } from './ports.ts';
import type { CliSession } from './session.ts';
import { printable } from './table.ts';

/** What the command line itself got wrong; `remedy` says where to look. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface ErrorContext {
  readonly isJson: boolean;
  /** `null` when the command line could not even be read. */
  readonly session: CliSession | null;
}

/** Writes the error to stderr, without any secret, and gives the exit code. */
export function reportError(thrown: unknown, io: CliIo, context: ErrorContext): ExitCode {
  if (isInterrupt(thrown, io)) return exitCodes.interrupted;
  const { code, message, exitCode } = describe(thrown);
  const redactor = context.session?.redactor ?? new Redactor();
  const text = redactor.text(message);
  if (context.isJson) io.stderr.write(`${JSON.stringify({ error: { code, message: text } })}\n`);
  else io.stderr.write(`headworks: ${text.split('\n').map(printable).join('\n')}\n`);
  const isDebug = context.session?.knownConfig?.logging.level === 'debug';
  if (isDebug && thrown instanceof Error) io.stderr.write(`${redactor.text(stackOf(thrown))}\n`);
  return exitCode;
}

/** Once somebody asked us to stop, whatever fails, fails because of that. */
function isInterrupt(thrown: unknown, io: CliIo): boolean {
  return thrown instanceof Interrupt || io.signal.reason instanceof Interrupt;
}

function describe(thrown: unknown): { code: string; message: string; exitCode: ExitCode } {
  if (thrown instanceof UsageError)
    return { code: 'USAGE', message: thrown.message, exitCode: exitCodes.usage };
  if (thrown instanceof CommanderError)
    return { code: 'USAGE', message: usageMessage(thrown), exitCode: exitCodes.usage };
  if (thrown instanceof HeadworksError) {
    // Only a list of configuration problems has lines of its own.
    const message = thrown.code === 'CONFIG_INVALID' ? thrown.message : printable(thrown.message);
    return { code: thrown.code, message, exitCode: exitCodeOf(thrown) };
  }
  return {
    code: 'INTERNAL',
    message:
      `Something went wrong that should not: ${sentence(printable(messageOf(thrown)))} ` +
      'Run it again with --log-level debug to see where, and please report it.',
    exitCode: exitCodes.error,
  };
}

/** `error: unknown option '--prot'\n(Did you mean --port?)` in our words. */
function usageMessage(error: CommanderError): string {
  const text = error.message.replace(/^error: /, '').replaceAll(/\s*\n\s*/g, ' ');
  return `${sentence(text)} See headworks --help.`;
}

const sentence = (text: string): string => (/[.?!)]$/.test(text) ? text : `${text}.`);

function stackOf(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${stackOf(error.cause)}` : '';
  return (error.stack ?? String(error)) + cause;
}
