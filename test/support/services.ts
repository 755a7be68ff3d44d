// For integration tests: the servers that the test command started, and unique names.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

function required(name: 'DATABASE_URL' | 'REDIS_URL'): string {
  const value = process.env[name];
  if (!value)
    throw new Error(
      `${name} is not set. Run "npm test", which starts a private server, or set it to one of yours.`,
    );
  return value;
}

export const databaseUrl = (): string => required('DATABASE_URL');
export const redisUrl = (): string => required('REDIS_URL');

/** A fresh name for a schema, key prefix or queue. */
export const uniqueName = (prefix: string): string => `${prefix}_${randomBytes(6).toString('hex')}`;

/** A folder that is removed when the test has passed, and kept for inspection when it failed. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-test-'));
  onTestFinished(async ({ task }) => {
    if (task.result?.state === 'pass') await rm(folder, { recursive: true, force: true });
  });
  return folder;
}
