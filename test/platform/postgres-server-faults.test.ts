// The server adapter when the server stops, restarts, hangs, or cancels a statement.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../../src/core/system.ts';
import { rawSql, sql, type Database } from '../../src/platform/postgres/index.ts';
import {
  openServerDatabase,
  type ServerDatabaseOptions,
} from '../../src/platform/postgres/server/server-store.ts';
import { startPrivatePostgres } from '../support/private-servers.ts';
import { databaseUrl, uniqueName } from '../support/services.ts';

const away = { code: 'STATE_UNAVAILABLE', isRetryable: true, retryAfterMs: expect.any(Number) as number };
const failure = (work: Promise<unknown>) =>
  work.then(
    () => 'it worked',
    (error: unknown) => error,
  );

async function open(options: Partial<ServerDatabaseOptions> = {}): Promise<Database> {
  const database = await openServerDatabase({
    url: databaseUrl(),
    schema: 'public',
    clock: systemClock,
    ...options,
  });
  onTestFinished(() => database.close());
  return database;
}

const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 50 });

/** A proxy to the server that can close a connection during its next request. */
async function relayTo(target: string): Promise<{ url: string; cutNext: (first: string) => Promise<void> }> {
  const { hostname, port } = new URL(target);
  let cut: { readonly first: string; readonly done: () => void } | undefined;
  const sockets = new Set<Socket>();
  const relay = createServer((near) => {
    const far = connect(Number(port || 5432), hostname);
    const end = () => [near, far].forEach((socket) => socket.destroy());
    let hasQueried = false;
    near.on('data', (bytes: Buffer) => {
      // A simple query; messages before it belong to the login.
      const isQuery = bytes[0] === 0x51;
      if (isQuery && !hasQueried && cut && bytes.includes(cut.first)) {
        const { done } = cut;
        cut = undefined;
        end();
        done();
        return;
      }
      hasQueried ||= isQuery;
      far.write(bytes);
    });
    far.on('data', (bytes: Buffer) => void near.write(bytes));
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
  });
  await new Promise<void>((resolve) => void relay.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    relay.close();
  });
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String((relay.address() as AddressInfo).port);
  return {
    url: url.href,
    cutNext: (first) => new Promise((done) => (cut = { first, done })),
  };
}

async function isRunning(database: Database, marker: string): Promise<boolean> {
  const { rows } = await database.query(
    sql`select 1 from pg_stat_activity where state = 'active' and query like ${`%/* ${marker} */%`} and pid <> pg_backend_pid()`,
  );
  return rows.length > 0;
}

describe('a server that goes down', () => {
  it('fails at once with a retry time, and recovers by itself, listeners included', async () => {
    const server = await startPrivatePostgres();
    const database = await open({ url: server.url });
    const received: string[] = [];
    const states: string[] = [];
    database.onStateChange((state) => states.push(state));
    await database.listen('news', (payload) => received.push(payload));
    await database.script('create table kept (id int); insert into kept values (1)');
    await server.stop();
    await until(() => expect(database.state).toBe('down'));
    expect(await failure(database.query(sql`select 1`))).toMatchObject(away);
    expect(await failure(database.transaction(async () => undefined))).toMatchObject(away);
    await server.restart();
    await until(() => expect(database.state).toBe('up'));
    expect((await database.query(sql`select id from kept`)).rows).toEqual([{ id: 1 }]);
    await database.notify('news', 'back');
    await until(() => expect(received).toEqual(['back']));
    expect(states).toEqual(['down', 'up']);
  });

  it('loses running transactions when killed, and keeps nothing partial', async () => {
    const server = await startPrivatePostgres();
    const database = await open({ url: server.url });
    await database.script('create table kept (id int)');
    const running = failure(
      database.transaction(async (transaction) => {
        await transaction.query(sql`insert into kept values (1)`);
        await transaction.query(sql`select pg_sleep(60)`);
      }),
    );
    await until(async () =>
      expect(
        (await database.query(sql`select count(*) from pg_stat_activity where query like '%pg_sleep(60)%'`))
          .rows,
      ).toEqual([{ count: 2 }]),
    );
    await server.kill();
    expect(await running).toMatchObject(away);
    await server.restart();
    await until(() => expect(database.state).toBe('up'));
    expect((await database.query(sql`select count(*) as count from kept`)).rows).toEqual([{ count: 0 }]);
  });

  it('is detected when it freezes, and used again when it continues', async () => {
    const server = await startPrivatePostgres();
    const database = await open({ url: server.url, statementTimeoutMs: 5_000, connectTimeoutMs: 5_000 });
    const controller = new AbortController();
    server.pause();
    const waiting = failure(database.query(sql`select 1`, { signal: controller.signal }));
    await sleep(50);
    controller.abort(new Error('waited enough'));
    expect(await waiting).toMatchObject({ message: 'waited enough' });
    await until(() => expect(database.state).toBe('down'));
    expect(await failure(database.ping())).toMatchObject(away);
    server.resume();
    await until(() => expect(database.state).toBe('up'));
    await database.ping();
  });
});

describe('a server that freezes', () => {
  it('waits for a connection or a commit no longer than the timeout', async () => {
    const server = await startPrivatePostgres();
    const database = await open({ url: server.url, connectTimeoutMs: 60_000 });
    await database.script('create table kept (id int)');
    const committing = database.transaction(
      async (transaction) => {
        await transaction.query(sql`insert into kept values (1)`);
        server.pause();
      },
      { leaseMs: 5_000 },
    );
    expect(await failure(committing)).toMatchObject({ code: 'STATE_UNAVAILABLE', isRetryable: true });
    // The only connection is still with the commit: this one needs a new one.
    const leaving = new AbortController();
    const opening = failure(database.query(sql`select 1`, { signal: leaving.signal }));
    await sleep(50);
    leaving.abort(new Error('waited enough'));
    expect(await opening).toMatchObject({ message: 'waited enough' });
    server.resume();
    await until(async () => expect(await failure(database.ping())).toBe('it worked'));
  });
});

describe('a connection that is lost', () => {
  it('fails its transaction only; the next one works', async () => {
    const database = await open();
    const error = await failure(
      database.transaction(async (transaction) => {
        const { rows } = await transaction.query<{ pid: number }>(sql`select pg_backend_pid() as pid`);
        await transaction.query(sql`select pg_terminate_backend(${rows[0]?.pid ?? 0})`);
      }),
    );
    expect(error).toMatchObject(away);
    await until(() => expect(database.state).toBe('up'));
    await database.transaction(async (transaction) => transaction.query(sql`select 1`));
  });

  it('is replaced when it was idle', async () => {
    const database = await open({ poolSize: 1 });
    const other = await open();
    const { rows } = await database.query<{ pid: number }>(sql`select pg_backend_pid() as pid`);
    await other.query(sql`select pg_terminate_backend(${rows[0]?.pid ?? 0})`);
    await until(async () => expect(await failure(database.ping())).toBe('it worked'));
  });

  it('fails only its query when it breaks during setup', async () => {
    const { url, cutNext } = await relayTo(databaseUrl());
    const database = await open({ url });
    const uncaught: unknown[] = [];
    const note = (error: unknown) => void uncaught.push(error);
    process.on('uncaughtException', note);
    onTestFinished(() => void process.off('uncaughtException', note));
    const cut = cutNext('set search_path');
    // The open connection is in use: the second query needs a new one.
    const busy = failure(database.query(sql`select pg_sleep(0.5)`));
    expect(await failure(database.query(sql`select 1`))).toMatchObject(away);
    await cut;
    expect(await busy).toBe('it worked');
    await until(async () => expect(await failure(database.query(sql`select 1`))).toBe('it worked'));
    expect(uncaught).toEqual([]);
  });

  it('loses no listener when it was the one for notifications', async () => {
    const database = await open();
    const other = await open();
    const channel = uniqueName('channel');
    const received: string[] = [];
    await database.listen(channel, (payload) => received.push(payload));
    const states: string[] = [];
    database.onStateChange((state) => states.push(state));
    await other.query(
      sql`select pg_terminate_backend(pid) from pg_stat_activity where query = ${`listen "${channel}"`}`,
    );
    await until(() => expect(states).toEqual(['down', 'up']));
    await other.notify(channel, 'still there');
    await until(() => expect(received).toEqual(['still there']));
  });
});

describe('a statement that takes too long', () => {
  it('is stopped by the server at its timeout', async () => {
    const database = await open({ statementTimeoutMs: 100 });
    expect(await failure(database.query(sql`select pg_sleep(30)`))).toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      isRetryable: true,
    });
    expect(database.state).toBe('up');
  });

  it.each(['statement', 'transaction'])('is canceled on the server when its %s is aborted', async (kind) => {
    const database = await open();
    const marker = uniqueName('marker');
    const controller = new AbortController();
    const { signal } = controller;
    const query = rawSql(`select pg_sleep($1) /* ${marker} */`, [30]);
    const running = failure(
      kind === 'statement'
        ? database.query(query, { signal })
        : database.transaction((transaction) => transaction.query(query), { signal }),
    );
    await until(async () => expect(await isRunning(database, marker)).toBe(true));
    controller.abort(new Error('enough'));
    expect(await running).toMatchObject({ message: 'enough' });
    await until(async () => expect(await isRunning(database, marker)).toBe(false));
  });

  it('is canceled on the server when its lease ends, and the connection is free again', async () => {
    const database = await open({ poolSize: 1 });
    const watcher = await open();
    const marker = uniqueName('marker');
    const query = rawSql(`select pg_sleep($1) /* ${marker} */`, [30]);
    const work = database.transaction((transaction) => transaction.query(query), { leaseMs: 200 });
    expect(await failure(work)).toMatchObject({ code: 'STATE_LEASE_EXPIRED' });
    await database.ping();
    expect(await isRunning(watcher, marker)).toBe(false);
  });
});

describe('sessions', () => {
  it('have the same settings: limits, time zone, name', async () => {
    const database = await open({ statementTimeoutMs: 1234 });
    const { rows } = await database.query(sql`
      select current_setting('statement_timeout') as statement, current_setting('jit') as jit,
             current_setting('idle_in_transaction_session_timeout') as idle,
             current_setting('application_name') as name, current_setting('timezone') as zone`);
    expect(rows).toEqual([{ statement: '1234ms', jit: 'off', idle: '1min', name: 'headworks', zone: 'UTC' }]);
  });

  it('never exceed the maximum, and are all used', async () => {
    const database = await open({ poolSize: 3 });
    const name = uniqueName('busy');
    const work = Array.from({ length: 9 }, () =>
      database.query(rawSql(`select pg_sleep($1) /* ${name} */`, [0.2])),
    );
    const watcher = await open();
    let max = 0;
    for (let look = 0; look < 15; look++) {
      const { rows } = await watcher.query<{ count: number }>(
        sql`select count(*) as count from pg_stat_activity where state = 'active' and query like ${`%/* ${name} */%`} and pid <> pg_backend_pid()`,
      );
      max = Math.max(max, rows[0]?.count ?? 0);
      await sleep(20);
    }
    await Promise.all(work);
    expect(max).toBe(3);
  });
});
