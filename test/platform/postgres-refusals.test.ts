// A server that cannot be used is explained in one line with a remedy, without the password.
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/core/system.ts';
import {
  defineMigration,
  identifier,
  migrate,
  sql,
  type Database,
} from '../../src/platform/postgres/index.ts';
import { openServerDatabase } from '../../src/platform/postgres/server/server-store.ts';
import { openJobQueue } from './jobs-support.ts';
import { startPrivatePostgres } from '../support/private-servers.ts';
import { databaseUrl, redisUrl, uniqueName } from '../support/services.ts';

/** Longer than any test: only the server that never responds is not waited for. */
const open = (url: string, schema = 'public', connectTimeoutMs = 60_000) =>
  openServerDatabase({ url, schema, clock: systemClock, connectTimeoutMs });

/** The error of opening, with the checks that apply to all of them. */
async function refusal(
  url: string,
  connectTimeoutMs?: number,
): Promise<{ code: string; message: string; isRetryable: boolean }> {
  const outcome = await open(url, 'public', connectTimeoutMs).then(
    async (database) => {
      await database.close();
      throw new Error('It opened.');
    },
    (error: unknown) => error as { code: string; message: string; isRetryable: boolean },
  );
  const { password } = new URL(url);
  expect(outcome.message).toMatch(/^[^\n]+$/);
  if (password) expect(outcome.message).not.toContain(password);
  return outcome;
}

function changed(change: (url: URL) => void): string {
  const url = new URL(databaseUrl());
  change(url);
  return url.href;
}

/** A server on a port that is not Postgres. */
async function impostor(onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `postgres://user:a-secret@127.0.0.1:${(server.address() as AddressInfo).port}/database`;
}

describe('opening a server', () => {
  it('explains a wrong password', async () => {
    const error = await refusal(changed((url) => (url.password = 'not-the-password')));
    expect(error).toMatchObject({ code: 'STATE_UNUSABLE', isRetryable: false });
    expect(error.message).toMatch(/refused the password.*DATABASE_URL/);
  });

  it('explains an unknown database', async () => {
    const error = await refusal(changed((url) => (url.pathname = '/no_such_database')));
    expect(error).toMatchObject({ code: 'STATE_UNUSABLE' });
    expect(error.message).toMatch(/no such database.*no_such_database.*CREATE DATABASE/);
  });

  it('explains an address that is not a Postgres URL', async () => {
    const error = await refusal('mysql://user:a-secret@127.0.0.1/database');
    expect(error).toMatchObject({ code: 'STATE_UNUSABLE' });
    expect(error.message).toContain('postgres://');
  });

  it('explains that a server has no TLS when it is required', async () => {
    const error = await refusal(changed((url) => url.searchParams.set('sslmode', 'verify-full')));
    expect(error).toMatchObject({ code: 'STATE_UNUSABLE' });
    expect(error.message).toContain('sslmode');
  });

  it('is retryable when there is no listener', async () => {
    const url = await impostor((socket) => socket.destroy());
    expect(await refusal(url)).toMatchObject({ code: 'STATE_UNAVAILABLE', isRetryable: true });
    const error = await refusal('postgres://user:a-secret@127.0.0.1:1/database');
    expect(error).toMatchObject({ code: 'STATE_UNAVAILABLE', isRetryable: true });
    expect(error.message).toContain('127.0.0.1:1');
  });

  it('times out on a server that never responds', async () => {
    const url = await impostor(() => undefined);
    expect(await refusal(url, 300)).toMatchObject({ code: 'STATE_UNAVAILABLE', isRetryable: true });
  });

  it('recognizes a Redis and a web server', async () => {
    const redis = new URL(redisUrl());
    const error = await refusal(`postgres://user:a-secret@${redis.host}/database`);
    expect(error.code).toMatch(/^STATE_UN(USABLE|AVAILABLE)$/);
    const web = await impostor((socket) =>
      socket.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n'),
    );
    expect((await refusal(web)).code).toMatch(/^STATE_UN(USABLE|AVAILABLE)$/);
  });

  it('explains a server that is too old', async () => {
    const url = await impostor(oldPostgres);
    const error = await refusal(url);
    expect(error).toMatchObject({ code: 'STATE_UNUSABLE' });
    expect(error.message).toMatch(/version 14\.2.*15 or newer/);
  });
});

/** The part of the protocol that reports the version. */
function oldPostgres(socket: Socket): void {
  const message = (type: string, body: Buffer) => {
    const head = Buffer.alloc(5);
    head.write(type);
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const column = (name: string, oid: number) => {
    const rest = Buffer.alloc(18);
    rest.writeInt32BE(oid, 6);
    return Buffer.concat([Buffer.from(`${name}\0`), rest]);
  };
  const field = (text: string) => Buffer.concat([Buffer.from([0, 0, 0, text.length]), Buffer.from(text)]);
  const ready = message('Z', Buffer.from('I'));
  socket.once('data', () => {
    socket.write(Buffer.concat([message('R', Buffer.alloc(4)), ready]));
    socket.once('data', () => {
      socket.write(
        Buffer.concat([
          message('T', Buffer.concat([Buffer.from([0, 2]), column('number', 23), column('version', 25)])),
          message('D', Buffer.concat([Buffer.from([0, 2]), field('140002'), field('14.2')])),
          message('C', Buffer.from('SELECT 1\0')),
          ready,
        ]),
      );
    });
  });
}

/** A role with a password, and a URL to log in as it. */
async function withRole(work: (admin: Database, role: string, url: string) => Promise<void>): Promise<void> {
  const admin = await open(databaseUrl());
  const role = uniqueName('role');
  await admin.script(`create role ${role} login password 'a-secret'`);
  try {
    await work(
      admin,
      role,
      changed((url) => {
        url.username = role;
        url.password = 'a-secret';
      }),
    );
  } finally {
    await admin.script(`drop owned by ${role}; drop role ${role}`);
    await admin.close();
  }
}

describe('a role without rights', () => {
  const migrations = [defineMigration('0001-first.sql', 'create table first (id int)')];

  it('reports the missing right to create the schema, and works in one that an administrator created', async () => {
    await withRole(async (admin, role, url) => {
      const schema = uniqueName('schema');
      const database = await open(url, schema);
      const error = (await migrate(database, migrations, { clock: systemClock }).catch(
        (caught: unknown) => caught,
      )) as Error;
      expect(error).toMatchObject({ code: 'STATE_UNUSABLE' });
      expect(error.message).toMatch(new RegExp(`GRANT CREATE ON DATABASE "[^"]+" TO "${role}"`));
      for (const wanted of [schema, `${schema}_jobs`]) {
        expect(error.message).toContain(`CREATE SCHEMA "${wanted}" AUTHORIZATION "${role}";`);
        await admin.query(sql`create schema ${identifier(wanted)} authorization ${identifier(role)}`);
      }
      expect(await migrate(database, migrations, { clock: systemClock })).toEqual(migrations);
      // Still without the privilege to create schemas: the existing ones are enough.
      const { queue } = await openJobQueue(database);
      await queue.stop(0);
      await database.close();
    });
  });

  it('reports the missing schema of jobs', async () => {
    await withRole(async (admin, role, url) => {
      const schema = uniqueName('schema');
      await admin.query(sql`create schema ${identifier(schema)} authorization ${identifier(role)}`);
      const database = await open(url, schema);
      const error = (await openJobQueue(database).catch((caught: unknown) => caught)) as Error;
      expect(error).toMatchObject({ code: 'STATE_UNUSABLE' });
      const remedy = `CREATE SCHEMA "${schema}_jobs" AUTHORIZATION "${role}";`;
      expect(error.message).toContain(remedy);
      expect(error.message).not.toContain(`CREATE SCHEMA "${schema}" `);
      await admin.script(remedy);
      await (await openJobQueue(database)).queue.stop(0);
      await database.close();
    });
  });

  it('reports the owner of existing tables, and works once it is a member of that role', async () => {
    await withRole(async (admin, role, url) => {
      const [schema, owner] = [uniqueName('schema'), uniqueName('owner')];
      await admin.script(`
        create role ${owner} login password 'a-secret';
        create schema ${schema} authorization ${owner}; create schema ${schema}_jobs authorization ${owner}`);
      const first = await open(Object.assign(new URL(url), { username: owner }).href, schema);
      await migrate(first, migrations, { clock: systemClock });
      await (await openJobQueue(first)).queue.stop(0);
      await first.close();
      const database = await open(url, schema);
      const refused = [
        () => migrate(database, migrations, { clock: systemClock }),
        () => openJobQueue(database),
      ];
      for (const attempt of refused) {
        const error = (await attempt().catch((caught: unknown) => caught)) as Error;
        expect(error).toMatchObject({ code: 'STATE_UNUSABLE' });
        expect(error.message).toContain(`As an administrator: GRANT "${owner}" TO "${role}";`);
      }
      await database.close();
      await admin.script(`grant "${owner}" to "${role}"`);
      const again = await open(url, schema);
      const more = [...migrations, defineMigration('0002-second.sql', 'alter table first add column x int')];
      await migrate(again, more, { clock: systemClock });
      await (await openJobQueue(again)).queue.stop(0);
      await again.close();
      await admin.script(`drop owned by ${owner}; drop role ${owner}`);
    });
  });

  it('reports the missing right in the schema', async () => {
    await withRole(async (admin, role, url) => {
      const schema = uniqueName('schema');
      await admin.query(sql`create schema ${identifier(schema)}`);
      const database = await open(url, schema);
      const error = (await migrate(database, migrations, { clock: systemClock }).catch(
        (caught: unknown) => caught,
      )) as Error;
      await database.close();
      await admin.query(sql`drop schema ${identifier(schema)} cascade`);
      expect(error).toMatchObject({ code: 'STATE_UNUSABLE' });
      expect(error.message).toContain(`GRANT USAGE, CREATE ON SCHEMA "${schema}" TO "${role}"`);
    });
  });
});

describe('capabilities of a server', () => {
  it('lack what the server does not have', async () => {
    const server = await startPrivatePostgres({ withoutVector: true, withoutTrigram: true });
    const { capabilities, close } = await openBriefly(server.url);
    await close();
    for (const capability of [capabilities.vector, capabilities.trigram])
      expect(capability).toMatchObject({
        available: false,
        remedy: expect.stringContaining('Install') as string,
      });
  });

  it('lack an extension that this role may not create, until an administrator creates it', async () => {
    const server = await startPrivatePostgres();
    const admin = await open(server.url);
    onTestFinished(() => admin.close());
    await admin.script(
      `create role guest login password 'a-secret'; revoke create on database headworks from public`,
    );
    const url = Object.assign(new URL(server.url), { username: 'guest', password: 'a-secret' }).href;
    await admin.script('drop extension if exists vector; drop extension if exists pg_trgm');
    const database = await open(url);
    onTestFinished(() => database.close());
    expect(database.capabilities.vector).toMatchObject({
      available: false,
      reason: expect.stringContaining('may not create') as string,
      remedy: expect.stringContaining('CREATE EXTENSION vector') as string,
    });
    await admin.script(
      'create schema elsewhere; create extension vector schema elsewhere; create extension pg_trgm schema public',
    );
    await database.refreshCapabilities();
    expect(database.capabilities).toMatchObject({
      vector: { available: false, reason: expect.stringContaining('elsewhere') as string },
      trigram: { available: true },
    });
    await admin.script('alter extension vector set schema public');
    expect(await database.refreshCapabilities()).toMatchObject({ vector: { available: true } });
  });
});

async function openBriefly(url: string) {
  const database = await open(url);
  return { capabilities: database.capabilities, close: () => database.close() };
}
