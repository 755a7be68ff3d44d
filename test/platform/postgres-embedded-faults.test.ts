// The embedded store when its worker hangs or dies, its process is killed, or its files are damaged.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/core/system.ts';
import { VirtualClock } from '../support/core/virtual-clock.ts';
import { openEmbeddedDatabase } from '../../src/platform/postgres/embedded/embedded-store.ts';
import { sql, type Database } from '../../src/platform/postgres/index.ts';
import { copyEmbeddedStore } from '../support/embedded-template.ts';
import { temporaryFolder } from '../support/services.ts';

const away = { code: 'STATE_UNAVAILABLE', isRetryable: true };
const failure = (work: Promise<unknown>) =>
  work.then(
    () => 'it worked',
    (error: unknown) => error,
  );

/** Reading PGlite's virtual file of uploads without an upload crashes it. */
const crash = `copy fault from '/dev/blob'`;

describe('a new embedded store', () => {
  it('is initialized in a worker that ends before the next one opens the same files', async () => {
    const folder = join(await temporaryFolder(), 'state');
    let running = 0;
    const runningAtStart: number[] = [];
    const count = (worker: Worker) => {
      running += 1;
      runningAtStart.push(running);
      worker.once('exit', () => (running -= 1));
    };
    process.on('worker', count);
    onTestFinished(() => void process.off('worker', count));
    const database = await openEmbeddedDatabase({ folder, schema: 'public', clock: new VirtualClock() });
    await database.script('create table kept (id text)');
    await database.close();
    expect(runningAtStart).toEqual([1, 1]);
    const again = await openEmbeddedDatabase({ folder, schema: 'public', clock: new VirtualClock() });
    expect((await again.query(sql`select id from kept`)).rows).toEqual([]);
    await again.close();
    expect(runningAtStart).toEqual([1, 1, 1]);
  });
});

describe('embedded store on files', () => {
  const clock = new VirtualClock();
  let folder = '';
  let database: Database;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headworks-test-'));
    await copyEmbeddedStore(join(folder, 'state'));
    database = await openEmbeddedDatabase({ folder: join(folder, 'state'), schema: 'public', clock });
    await database.script('create table fault (id text)');
  });
  afterAll(async () => {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  });

  const ids = async () => {
    const { rows } = await database.query<{ id: string }>(sql`select id from fault order by id`);
    return rows.map((row) => row.id);
  };

  it('restarts a stuck worker: its caller can retry, waiting commands run, listeners are still notified', async () => {
    const states: string[] = [];
    const received: string[] = [];
    const stopWatching = database.onStateChange((state) => states.push(state));
    const stopListening = await database.listen('faults', (payload) => received.push(payload));
    await database.query(sql`insert into fault values ('before')`);
    const stuck = failure(database.script('do $$ begin loop end loop; end $$'));
    const next = ids();
    await clock.advance(60_000);
    expect(await stuck).toMatchObject(away);
    expect(await next).toEqual(['before']);
    await database.notify('faults', 'after');
    await expect.poll(() => received).toEqual(['after']);
    expect(states).toEqual(['down', 'up']);
    stopWatching();
    await stopListening();
  });

  it('loses only the transaction that the stuck statement was in', async () => {
    await database.query(sql`delete from fault`);
    const lost = failure(
      database.transaction(
        async (transaction) => {
          await transaction.query(sql`insert into fault values ('lost')`);
          const error = await failure(transaction.script('do $$ begin loop end loop; end $$'));
          expect(error).toMatchObject(away);
          // On the new worker this would be outside of any transaction, and stay.
          await transaction.query(sql`insert into fault values ('stray')`);
        },
        { leaseMs: 120_000 },
      ),
    );
    await expect.poll(() => clock.pending).toBeGreaterThanOrEqual(2);
    await clock.advance(60_000);
    expect(await lost).toMatchObject(away);
    expect(await ids()).toEqual([]);
  });

  it('starts a new worker when one dies, and keeps what was committed', async () => {
    await database.query(sql`insert into fault values ('kept')`);
    expect(await failure(database.script(crash))).toMatchObject(away);
    expect(await ids()).toEqual(['kept']);
    expect(database.state).toBe('up');
  });
});

describe('embedded store in memory', () => {
  it('does not come back empty when its worker dies', async () => {
    const clock = new VirtualClock();
    const database = await openEmbeddedDatabase({ memory: true, schema: 'public', clock });
    await database.script('create table fault (id text)');
    expect(await failure(database.script(crash))).toMatchObject(away);
    expect(await failure(database.query(sql`select * from fault`))).toMatchObject({ code: 'STATE_UNUSABLE' });
    expect(database.state).toBe('down');
    await database.close();
  });
});

describe('embedded store and its environment', () => {
  it('has every committed row after kill -9 of its process', async () => {
    const folder = join(await temporaryFolder(), 'state');
    await copyEmbeddedStore(folder);
    const program = fileURLToPath(new URL('postgres-embedded-writer.ts', import.meta.url));
    const writer = spawn(process.execPath, [program, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
    let lastCommitted = 0;
    for await (const line of createInterface(writer.stdout)) {
      lastCommitted = Number(line);
      if (lastCommitted === 200) writer.kill('SIGKILL');
    }
    if (writer.exitCode === null && writer.signalCode === null) await once(writer, 'exit');
    const database = await openEmbeddedDatabase({ folder, schema: 'public', clock: systemClock });
    const { rows } = await database.query<{ count: number; last: number }>(
      sql`select count(*) as count, max(number) as last from written`,
    );
    await database.close();
    expect(lastCommitted).toBeGreaterThanOrEqual(200);
    // One more may have been committed before the process could print it.
    expect(rows[0]?.last).toBeGreaterThanOrEqual(lastCommitted);
    expect(rows[0]?.count).toBe(rows[0]?.last);
  });

  it('reports in one line that its files are damaged, without changing them', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'base'));
    await writeFile(join(folder, 'PG_VERSION'), '18\n');
    const error = await failure(openEmbeddedDatabase({ folder, schema: 'public', clock: systemClock }));
    expect(error).toMatchObject({ code: 'STATE_UNUSABLE' });
    expect((error as Error).message).toMatch(/^The embedded store cannot be opened: [^\n]+$/);
  });

  it('distinguishes a damaged store from a new one, reports it, and does not initialize over it', async () => {
    const open = (folder: string) => openEmbeddedDatabase({ folder, schema: 'public', clock: systemClock });
    const damaged = async (damage: (folder: string) => Promise<void>) => {
      const folder = join(await temporaryFolder(), 'state');
      await copyEmbeddedStore(folder);
      await damage(folder);
      const before = await readdir(folder, { recursive: true });
      const error = await failure(open(folder));
      expect(error).toMatchObject({ code: 'STATE_UNUSABLE' });
      // PGlite names the process that uses the folder.
      const after = (await readdir(folder, { recursive: true })).filter((name) => name !== 'postmaster.pid');
      expect(after).toEqual(before);
      return error as Error;
    };
    const lost = await damaged((folder) => rm(join(folder, 'PG_VERSION')));
    expect(lost.message).toMatch(/^[^\n]*its file PG_VERSION is missing\. Restore [^\n]*\.$/);
    const torn = await damaged((folder) => truncate(join(folder, 'global', 'pg_control')));
    expect(torn.message).toBe(
      'The embedded store cannot be opened: its files cannot be read (PGlite failed). ' +
        'If its files are damaged, restore them from a backup or move the folder away.',
    );
    expect((torn.cause as Error).message).toContain('Aborted');
  });

  it('is set up again when its first start was interrupted', async () => {
    const folder = join(await temporaryFolder(), 'state');
    await mkdir(join(folder, 'base'), { recursive: true });
    const database = await openEmbeddedDatabase({ folder, schema: 'public', clock: systemClock });
    await database.close();
    expect(await readdir(folder)).toEqual(expect.arrayContaining(['PG_VERSION', 'initialized']));
  });

  it('reports in one line that its folder cannot be created', async () => {
    const file = join(await temporaryFolder(), 'file');
    await writeFile(file, '');
    const error = await failure(
      openEmbeddedDatabase({ folder: join(file, 'state'), schema: 'public', clock: systemClock }),
    );
    expect(error).toMatchObject({ code: 'DATA_FOLDER_UNUSABLE' });
    expect((error as Error).message).toMatch(/^[^\n]+$/);
  });
});
