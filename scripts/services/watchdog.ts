// A small process of its own that takes a set of servers down when its owner is gone, even by kill -9.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { takeDown } from './take-down.ts';

/**
 * Starts it. The owner's end of the pipe closes when the owner ends, in whatever way; that is the signal.
 * It has a session of its own, so that Ctrl-C does not reach it, and none of our environment.
 */
export function startWatchdog(folder: string): void {
  const program = fileURLToPath(import.meta.url);
  const dog = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, folder], {
    cwd: '/',
    env: { PATH: process.env['PATH'] },
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  dog.on('error', () => undefined);
  dog.stdin.on('error', () => undefined);
  dog.unref();
  if ('unref' in dog.stdin && typeof dog.stdin.unref === 'function') dog.stdin.unref();
}

if (import.meta.main) {
  const folder = process.argv[2];
  if (!folder) throw new Error('Say which folder to watch.');
  process.stdin.resume();
  process.stdin.on('error', () => undefined);
  process.stdin.once('close', () => void takeDown(folder));
}
