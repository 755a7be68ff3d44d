// A lock between processes, which the kernel releases even if its holder is killed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Runs `work` while holding the lock on `file`; waits for other holders up to `waitSeconds`.
 * Node has no flock(2), so util-linux's `flock` holds it and releases it when its standard input is closed.
 */
export async function withFileLock<T>(file: string, waitSeconds: number, work: () => Promise<T>): Promise<T> {
  const holder = spawn(
    'flock',
    ['--timeout', String(waitSeconds), file, 'sh', '-c', 'echo held; exec cat >/dev/null'],
    { detached: true, stdio: ['pipe', 'pipe', 'ignore'] },
  );
  const held = await Promise.race([
    once(holder.stdout, 'data').then(() => true),
    once(holder, 'exit').then(() => false),
  ]);
  if (!held) throw new Error(`Another run has held ${file} for ${waitSeconds} s; wait for it, or end it.`);
  try {
    return await work();
  } finally {
    const released = once(holder, 'exit');
    holder.stdin.end();
    await released;
  }
}
