// Private servers can be stopped, killed, paused and restarted, also without some extensions.
import { Redis } from 'ioredis';
import { describe, expect, it, vi } from 'vitest';
import { pingPostgres, pingRedis, withPostgres } from '../../scripts/services/ping.ts';
import { startPrivatePostgres, startPrivateRedis } from '../support/private-servers.ts';

async function extensions(url: string): Promise<readonly string[]> {
  return await withPostgres(url, async (client) => {
    const found = await client.query<{ name: string }>(
      `SELECT name FROM pg_available_extensions WHERE name IN ('vector', 'pg_trgm') ORDER BY name`,
    );
    return found.rows.map((row) => row.name);
  });
}

describe('a private PostgreSQL', () => {
  it('keeps committed rows over kill and restart, at the same address', async () => {
    const server = await startPrivatePostgres();
    const before = server.pid;
    await withPostgres(server.url, (client) => client.query('CREATE TABLE kept AS SELECT 7 AS n'));
    await server.kill();
    await expect(pingPostgres(server.url)).rejects.toThrow();
    await server.restart();
    expect(server.pid).not.toBe(before);
    const rows = await withPostgres(server.url, (client) =>
      client.query<{ n: number }>('SELECT n FROM kept'),
    );
    expect(rows.rows).toEqual([{ n: 7 }]);
  });

  it('has pgvector and pg_trgm unless disabled', async () => {
    const [full, bare] = await Promise.all([
      startPrivatePostgres(),
      startPrivatePostgres({ withoutVector: true, withoutTrigram: true, settings: ['max_connections = 7'] }),
    ]);
    expect(await extensions(full.url)).toEqual(['pg_trgm', 'vector']);
    expect(await extensions(bare.url)).toEqual([]);
    const shown = await withPostgres(bare.url, (client) => client.query('SHOW max_connections'));
    expect(shown.rows).toEqual([{ max_connections: '7' }]);
  });
});

describe('a private Redis', () => {
  it('loses all data when it is killed', async () => {
    const server = await startPrivateRedis();
    const redis = new Redis(server.url);
    redis.on('error', () => undefined);
    await redis.set('key', 'value');
    await server.kill();
    await server.restart();
    expect(await redis.get('key')).toBeNull();
    redis.disconnect();
  });

  it('does not respond while paused, and continues afterwards', async () => {
    const server = await startPrivateRedis({ extraConfig: ['maxmemory 50mb'] });
    const redis = new Redis(server.url);
    server.pause();
    let isAnswered = false;
    const answer = redis.config('GET', 'maxmemory').finally(() => (isAnswered = true));
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(isAnswered).toBe(false);
    server.resume();
    expect(await answer).toEqual(['maxmemory', '52428800']);
    redis.disconnect();
  });

  it('is gone after stop, even when it was paused', async () => {
    const server = await startPrivateRedis();
    server.pause();
    await server.stop();
    await expect(pingRedis(server.url)).rejects.toThrow();
    // Its parent has to notice its end first.
    await vi.waitFor(() => expect(() => process.kill(server.pid, 0)).toThrow('ESRCH'), { timeout: 60_000 });
  });
});
