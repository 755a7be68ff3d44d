// Checks that a server is reachable and accepts the credentials.
import { Redis } from 'ioredis';
import { Client } from 'pg';

const timeoutMs = 5_000;

/** Runs `work` on a connection of its own. */
export async function withPostgres<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: timeoutMs });
  client.on('error', () => undefined); // a running query rejects anyway
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Rejects when the server is unreachable or rejects the connection. */
export async function pingPostgres(url: string): Promise<void> {
  await withPostgres(url, async (client) => await client.query('SELECT 1'));
}

/** Rejects when the server is unreachable or rejects the connection. */
export async function pingRedis(url: string): Promise<void> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    enableReadyCheck: false,
  });
  let lastError: Error | undefined;
  redis.on('error', (error: Error) => (lastError = error));
  try {
    await redis.connect();
    await redis.ping();
  } catch (error) {
    throw lastError ?? error; // ioredis reports "Connection is closed"; the first error has the reason
  } finally {
    redis.disconnect();
  }
}
