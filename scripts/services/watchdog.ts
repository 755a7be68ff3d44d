// A separate process that stops a set of servers when its owner has ended, even by kill -9.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { takeDown } from './take-down.ts';

/**
 * Starts it. The owner's end of the pipe closes when the owner ends, for any reason.
 * It has a session of its own, so that Ctrl-C does not reach it, and an empty environment.
 */
export function startWatchdog(folder: string): void {
  const program = fileURLToPath(import.meta.url);
  const watchdog = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, folder], {
    cwd: '/',
    env: { PATH: process.env['PATH'] },
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watchdog.on('error', () => undefined);
  watchdog.stdin.on('error', () => undefined);
  watchdog.unref();
  if ('unref' in watchdog.stdin && typeof watchdog.stdin.unref === 'function') watchdog.stdin.unref();
}

if (import.meta.main) {
  const folder = process.argv[2];
  if (!folder) throw new Error('Say which folder to watch.');
  process.stdin.resume();
  process.stdin.on('error', () => undefined);
  process.stdin.once('close', () => void takeDown(folder));
}
