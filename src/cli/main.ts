#!/usr/bin/env node
// Starts the command line in this process: its streams, its signals, its application.
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { processEnvironment } from '../config/index.ts';
import { version } from '../config/version.ts';
import { systemClock } from '../core/index.ts';
import { exitCodes } from './exit-codes.ts';
import type { CliApp } from './io.ts';
import { Interrupt } from './io.ts';
import { runCli } from './program.ts';

/** npm forwards a Ctrl-C that the terminal has already sent: the duplicate is not a second Ctrl-C. */
const sameSignalMs = 300;

/** Loaded only by commands that need it, so that help and configuration respond at once. */
const app: CliApp = {
  connect: async (config, options) => (await import('../app/index.ts')).connect(config, options),
  startServer: async (config, options) => (await import('../app/index.ts')).startServer(config, options),
};

const signal = interruptSignal();

const exitCode = await runCli(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  isTty: { stdin: process.stdin.isTTY, stdout: process.stdout.isTTY, stderr: process.stderr.isTTY },
  columns: process.stdout.isTTY ? process.stdout.columns : null,
  ...processEnvironment(),
  stdin: process.stdin,
  readStdin: () => text(process.stdin),
  readLine,
  signal,
  outputClosed: outputClosedSignal(),
  clock: systemClock,
  version,
  app,
});
await new Promise((resolve) => process.stdout.write('', resolve));
process.exit(exitCode);

/** Ctrl-C ends the question, and the command with it. */
async function readLine(): Promise<string> {
  const lines = createInterface({ input: process.stdin, signal });
  try {
    for await (const line of lines) return line;
    signal.throwIfAborted();
    return '';
  } finally {
    lines.close();
  }
}

/** Aborts at the first signal, so that everything can end well; the second ends the process at once. */
function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  let firstAt: number | null = null;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(name, () => {
      const now = performance.now();
      if (firstAt === null) {
        firstAt = now;
        controller.abort(new Interrupt(name));
      } else if (now - firstAt > sameSignalMs) {
        process.exit(exitCodes.interrupted);
      }
    });
  return controller.signal;
}

/** Aborts when stdout is closed, which is not an error. */
function outputClosedSignal(): AbortSignal {
  const controller = new AbortController();
  const ignoreClosed = (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  };
  process.stderr.on('error', ignoreClosed);
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') {
      process.stderr.write(`headworks: The output cannot be written: ${error.message}.\n`);
      process.exit(exitCodes.error);
    }
    controller.abort();
  });
  return controller.signal;
}
