// Runs a command on the services and takes everything down afterwards, however it ends.
import { spawn, type ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { openServices } from './services.ts';
import { log } from './run-command.ts';

/** The exit code of the command; 128 + n when signal n ended it or this process. */
export async function runWithServices(command: readonly string[]): Promise<number> {
  const [program, ...args] = command;
  if (program === undefined) throw new Error('Say which command to run: npm run services -- run COMMAND …');
  let child: ChildProcess | undefined;
  let stopped: NodeJS.Signals | undefined;
  const interrupted = onStopSignals((signal) => {
    stopped ??= signal;
    // A terminal sends Ctrl-C to the command as well; a second signal would force it to exit.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child?.kill(signal);
  });
  const services = await Promise.race([openServices(process.env, 'owned'), interrupted]);
  if (typeof services === 'string') return exitCodeOf(services); // the watchdog stops what was started
  try {
    log(services.summary);
    child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...services.variables } });
    const impatience = interrupted.then(() => sleep(10_000, undefined, { ref: false }));
    const code = await Promise.race([ended(child), impatience]);
    return stopped ? exitCodeOf(stopped) : (code ?? 1);
  } finally {
    await services.close();
  }
}

/** Handles SIGINT, SIGTERM and SIGHUP instead of exiting; resolves at the first. */
export function onStopSignals(stop: (signal: NodeJS.Signals) => void): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => {
        stop(signal);
        resolve(signal);
      });
  });
}

/** What a shell would report for a process that this signal ended. */
export const exitCodeOf = (signal: NodeJS.Signals): number => 128 + constants.signals[signal];

/** Waits for a child's end; its exit code as a shell reports it. */
export function ended(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? (signal ? exitCodeOf(signal) : 1)));
  });
}
