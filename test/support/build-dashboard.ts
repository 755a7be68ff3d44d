// Builds the dashboard once for the whole run; it takes 2 s.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export async function setup(): Promise<void> {
  // Vitest sets `test`, with which the slower development build of React would be used.
  const env = { ...process.env, NODE_ENV: 'production' };
  await promisify(execFile)('vite', ['build', 'web', '--logLevel', 'warn'], { env });
}
