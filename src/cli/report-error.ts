// Reports an error: one line with what happened and what to do, JSON with --json, a stack only at debug level.
import { CommanderError } from 'commander';
import { HeadworksError, Redactor, messageOf } from '../core/index.ts';
import type { ExitCode } from './exit-codes.ts';
import { exitCodeOf, exitCodes } from './exit-codes.ts';
import { printable } from './output.ts';
import type { CliIo } from './io.ts';
import { Interrupt } from './io.ts';
import type { CliSession } from './session.ts';

/** An invalid command line; `remedy` names the help to read. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface ErrorContext {
  readonly isJson: boolean;
  /** `null` when the command line could not even be read. */
  readonly session: CliSession | null;
  /** Whose arguments could not be read: `limits set`; empty for the program itself. */
  readonly command: string;
}

/** Writes the error to stderr, without any secret, and returns the exit code. */
export function reportError(thrown: unknown, io: CliIo, context: ErrorContext): ExitCode {
  if (isInterrupt(thrown, io)) return exitCodes.interrupted;
  const { code, message, exitCode, isList = false } = describe(thrown, context.command);
  const redactor = context.session?.redactor ?? new Redactor();
  // Line by line: what looks like a secret in one must not swallow the next. A list of problems holds no values, and
  // its names (`headers.Authorization: …`) would be masked as secrets.
  const clean = isList ? (line: string) => redactor.known(line) : (line: string) => redactor.text(line);
  const text = message.split('\n').map(clean).join('\n');
  if (context.isJson) io.stderr.write(`${JSON.stringify({ error: { code, message: text } })}\n`);
  else io.stderr.write(`headworks: ${text.split('\n').map(printable).join('\n')}\n`);
  const isDebug = context.session?.knownConfig?.logging.level === 'debug';
  if (isDebug && thrown instanceof Error) io.stderr.write(`${redactor.text(stackOf(thrown))}\n`);
  return exitCode;
}

/** After an interrupt every failure is a consequence of it. */
function isInterrupt(thrown: unknown, io: CliIo): boolean {
  return thrown instanceof Interrupt || io.signal.reason instanceof Interrupt;
}

interface Described {
  readonly code: string;
  readonly message: string;
  readonly exitCode: ExitCode;
  /** One problem per line, of a file that was checked by a schema. */
  readonly isList?: boolean;
}

function describe(thrown: unknown, command: string): Described {
  if (thrown instanceof UsageError)
    return { code: 'USAGE', message: thrown.message, exitCode: exitCodes.usage };
  if (thrown instanceof CommanderError)
    return { code: 'USAGE', message: usageMessage(thrown, command), exitCode: exitCodes.usage };
  if (thrown instanceof HeadworksError) {
    // Only a list of problems has lines of its own.
    const hasLines = thrown.code === 'CONFIG_INVALID' || Array.isArray(thrown.details['problems']);
    const message = hasLines ? thrown.message : printable(thrown.message);
    const isList = thrown.code === 'EXTRACTION_SOURCE_INVALID' && hasLines;
    return { code: thrown.code, message, exitCode: exitCodeOf(thrown), isList };
  }
  return {
    code: 'INTERNAL',
    message:
      `Unexpected error: ${sentence(printable(messageOf(thrown)))} ` +
      'Run it again with --log-level debug to see where, and please report it.',
    exitCode: exitCodes.error,
  };
}

/** `error: unknown option '--prot'\n(Did you mean --port?)` in our words. */
function usageMessage(error: CommanderError, command: string): string {
  const text = error.message.replace(/^error: /, '').replaceAll(/\s*\n\s*/g, ' ');
  return `${sentence(text)} See ${['headworks', command, '--help'].filter(Boolean).join(' ')}.`;
}

const sentence = (text: string): string => (/[.?!)]$/.test(text) ? text : `${text}.`);

function stackOf(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${stackOf(error.cause)}` : '';
  return (error.stack ?? String(error)) + cause;
}
