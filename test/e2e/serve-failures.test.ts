// Failures at start: one line with cause and remedy, a nonzero exit code, and no damage.
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runHeadworks, startHeadworks } from '../support/headworks-process.ts';
import { databaseUrl, redisUrl, temporaryFolder, uniqueName } from '../support/services.ts';

type Run = Awaited<ReturnType<typeof runHeadworks>>;

/** One line, which names cause and remedy, and no stack trace. */
function expectOneLine(run: Run, code: number, pattern: RegExp): void {
  const lines = run.stderr.trimEnd().split('\n');
  expect(lines, run.stderr).toHaveLength(1);
  expect(run.stderr).toMatch(/^headworks: /);
  expect(run.stderr).toMatch(pattern);
  expect(run.code).toBe(code);
  expect(run.stdout).toBe('');
}

/** A server of another kind than expected. */
async function occupy(): Promise<number> {
  const server = createServer((socket) =>
    socket.on('error', () => undefined).end('HTTP/1.1 400 Bad Request\r\n\r\n'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function admin<T>(work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: databaseUrl() });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const serve = (folder: string, env: Record<string, string> = {}, ...args: string[]): Promise<Run> =>
  runHeadworks(['serve', '--port', '0', ...args], folder, env);

describe('headworks serve when it cannot start', () => {
  it('reports a port in use', async () => {
    const folder = await temporaryFolder();
    const port = await occupy();
    const run = await runHeadworks(['serve', '--port', String(port)], folder, {
      DATABASE_URL: databaseUrl(),
      HEADWORKS_DATABASE_SCHEMA: uniqueName('bad_world'),
    });
    expectOneLine(run, 1, new RegExp(`Port ${port} .*in use.*--port`));
  });

  it('reports a data folder it cannot write to', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'file'), '');
    expectOneLine(await serve(folder, {}, '--data-dir', 'file/data'), 1, /file\/data.*(folder|write)/i);
    if (process.getuid?.() === 0) return; // Root may write everywhere, so the second part does not apply to it.
    await mkdir(join(folder, 'shut'));
    await chmod(join(folder, 'shut'), 0o500);
    expectOneLine(await serve(folder, {}, '--data-dir', 'shut/data'), 1, /shut\/data.*(right|permission)/i);
  });

  it('rejects the data folder of a newer version without changing it', async () => {
    const folder = await temporaryFolder();
    const data = join(folder, '.headworks');
    await mkdir(data);
    await writeFile(join(data, 'format.json'), '{"format": 99, "writtenBy": "9.9.9"}');
    expectOneLine(await serve(folder), 1, /newer.*9\.9\.9/);
    expect(await readFile(join(data, 'format.json'), 'utf8')).toContain('99');
  });

  it('reports that Postgres rejects the password, without showing it', async () => {
    const url = new URL(databaseUrl());
    url.password = 'not-the-password';
    const run = await serve(await temporaryFolder(), { DATABASE_URL: url.href });
    expectOneLine(run, 3, /password.*DATABASE_URL/i);
    expect(run.stderr).not.toContain('not-the-password');
  });

  it('names the privilege missing in Postgres', async () => {
    const role = uniqueName('role');
    await admin((client) => client.query(`create role ${role} login password 'only-for-a-test'`));
    onTestFinished(() => admin(async (client) => void (await client.query(`drop role ${role}`))));
    const url = new URL(databaseUrl());
    url.username = role;
    url.password = 'only-for-a-test';
    const run = await serve(await temporaryFolder(), {
      DATABASE_URL: url.href,
      HEADWORKS_DATABASE_SCHEMA: uniqueName('bad_world'),
    });
    expectOneLine(run, 3, /grant create on database/i);
  });

  it('reports that Postgres is unreachable', async () => {
    const run = await serve(await temporaryFolder(), {
      DATABASE_URL: 'postgres://u:p4ssw0rd@127.0.0.1:1/x',
      HEADWORKS_DATABASE_START_TIMEOUT_SECONDS: '0',
    });
    expectOneLine(run, 3, /127\.0\.0\.1:1.*(does not answer|does not respond).*Check that/);
  });

  it('reports a migration that was edited after it ran, and changes nothing', async () => {
    const folder = await temporaryFolder();
    const schema = uniqueName('bad_world');
    const env = { DATABASE_URL: databaseUrl(), HEADWORKS_DATABASE_SCHEMA: schema };
    expect((await runHeadworks(['doctor'], folder, env)).code).toBe(0);
    await admin((client) =>
      client.query(`update ${schema}.schema_migrations set checksum = 'x' where number = 1`),
    );
    expectOneLine(await serve(folder, env), 3, /0001.*changed after/);
    await admin((client) =>
      client.query(`insert into ${schema}.schema_migrations select 99, 'future', 'x', now()`),
    );
    expectOneLine(await serve(folder, env), 3, /newer Headworks|changed after/);
  });

  it('reports a server that is not Redis', async () => {
    const port = await occupy();
    const run = await serve(await temporaryFolder(), {
      REDIS_URL: `redis://127.0.0.1:${port}`,
      DATABASE_URL: databaseUrl(),
      HEADWORKS_DATABASE_SCHEMA: uniqueName('bad_world'),
    });
    expectOneLine(run, 3, /not.*Redis/i);
  });

  it('reports that Redis rejects the password, without showing it', async () => {
    const url = new URL(redisUrl());
    url.password = 'not-the-password';
    const run = await serve(await temporaryFolder(), {
      REDIS_URL: url.href,
      DATABASE_URL: databaseUrl(),
      HEADWORKS_DATABASE_SCHEMA: uniqueName('bad_world'),
    });
    expectOneLine(run, 3, /password/i);
    expect(run.stderr).not.toContain('not-the-password');
  });

  it('lists all invalid settings together', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'headworks.yaml'), 'server:\n  prot: 1\nlogging:\n  level: loud\n');
    const run = await serve(folder, { HEADWORKS_DRAIN_SECONDS: 'soon' });
    expect(run.code).toBe(2);
    expect(run.stderr).toMatch(/server\.prot.*server\.port/s);
    expect(run.stderr).toMatch(/loud.*debug, info/s);
    expect(run.stderr).toMatch(/HEADWORKS_DRAIN_SECONDS.*soon.*0 to 3600/s);
  });
});

describe('a worker', () => {
  it('requires a Postgres server', async () => {
    expectOneLine(await runHeadworks(['worker'], await temporaryFolder()), 2, /DATABASE_URL.*REDIS_URL/);
  });

  it('runs jobs beside a server and stops on SIGTERM', async () => {
    const env = {
      DATABASE_URL: databaseUrl(),
      REDIS_URL: redisUrl(),
      HEADWORKS_DATABASE_SCHEMA: uniqueName('worker'),
    };
    const worker = startHeadworks(['worker', '--json'], await temporaryFolder(), env);
    await worker.printed(/"state":"ready"/);
    worker.child.kill('SIGTERM');
    expect(await worker.ended).toBe(0);
  });
});
