// Builds the dashboard once for the whole run; it takes 2 s.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export async function setup(): Promise<void> {
  await promisify(execFile)('vite', ['build', 'web', '--logLevel', 'warn']);
}
