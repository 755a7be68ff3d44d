import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CliWorld } from '../../../test/support/cli-world.ts';
import { HttpFailure } from '../../core/index.ts';
import { exitCodes } from '../exit-codes.ts';

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const header =
  '{"headworks":"backup","format":1,"version":"1.2.3","createdAt":"2026-03-01T12:00:00.000Z","store":"embedded","postgres":"18","migrations":[],"jobsVersion":null,"tables":1,"rows":0}';
const wholeBackup = [
  header,
  '{"headworks":"table","place":"state","name":"organizations","columns":["id"],"rows":0}',
  '{"headworks":"table-end","rows":0,"sum":"0"}',
  '{"headworks":"end","tables":1,"rows":0,"files":0}',
];

/** A server whose backups are these lines. */
function worldWith(lines: readonly string[], cwd: string): CliWorld {
  const bytes = gzipSync(`${lines.join('\n')}\n`);
  // oxlint-disable-next-line typescript/require-await -- the interface is a stream
  const streamed = async function* () {
    yield bytes.subarray(0, 20);
    yield bytes.subarray(20);
  };
  return new CliWorld({ cwd, answer: () => streamed(), env: { HEADWORKS_URL: 'http://127.0.0.1:1' } });
}

describe('headworks backup', () => {
  it('creates a folder for a path that ends in a slash, and rejects a file at that path', async () => {
    const cwd = await temporaryFolder();
    expect(await worldWith(wholeBackup, cwd).start('backup', 'weekly/nights/')).toBe(exitCodes.ok);
    expect(await readdir(join(cwd, 'weekly/nights'))).toEqual([
      expect.stringMatching(/^headworks-.*\.backup$/) as string,
    ]);
    await writeFile(join(cwd, 'file'), '');
    const refused = worldWith(wholeBackup, cwd);
    expect(await refused.start('backup', 'file/')).not.toBe(exitCodes.ok);
    expect(refused.err).toMatch(/The folder .*file is a file, or is below one/);
  });

  it('writes what the server sends into a file that only its owner may read', async () => {
    const cwd = await temporaryFolder();
    const world = worldWith(wholeBackup, cwd);
    expect(await world.start('backup', 'a.backup', '--no-vaults', '--json')).toBe(exitCodes.ok);
    expect(world.calls).toEqual([
      { method: 'POST', path: '/api/v1/backup', body: { include_vaults: false } },
    ]);
    expect(JSON.parse(world.out)).toEqual({
      file: join(cwd, 'a.backup'),
      bytes: (await readFile(join(cwd, 'a.backup'))).length,
      tables: 1,
      rows: 0,
      files: 0,
      vaults: [],
      webhook_secret: false,
    });
    expect(world.openClients).toBe(0);
  });

  it('names the file by the time when it is given a folder', async () => {
    const cwd = await temporaryFolder();
    const world = worldWith(wholeBackup, cwd);
    expect(await world.start('backup', '.')).toBe(exitCodes.ok);
    expect(await readdir(cwd)).toEqual(['headworks-2026-03-01T12-00-00Z.backup']);
    expect(world.out).toContain('0 rows of 1 table, 0 vaults');
  });

  it('does not overwrite an existing file, and calls no server', async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, 'a.backup'), 'precious');
    const world = worldWith(wholeBackup, cwd);
    expect(await world.start('backup', 'a.backup')).toBe(exitCodes.error);
    expect(world.err).toContain('already exists');
    expect(world.calls).toEqual([]);
    expect(await readFile(join(cwd, 'a.backup'), 'utf8')).toBe('precious');
  });

  it.each([
    ['ends too early', [header], 'it has no end'],
    [
      'failed on the way',
      [header, '{"headworks":"failed","code":"STATE_UNAVAILABLE","message":"The store went away."}'],
      'The store went away.',
    ],
  ])('leaves no file behind when the backup %s', async (_, lines, message) => {
    const cwd = await temporaryFolder();
    const world = worldWith(lines, cwd);
    expect(await world.start('backup', 'a.backup')).not.toBe(exitCodes.ok);
    expect(world.err).toContain(message);
    expect(await readdir(cwd)).toEqual([]);
  });

  it('reports that the connection to the server was lost, with the remedy', async () => {
    const cwd = await temporaryFolder();
    const bytes = gzipSync(wholeBackup.join('\n'));
    // oxlint-disable-next-line typescript/require-await -- the interface is a stream
    const broken = async function* () {
      yield bytes.subarray(0, 20);
      throw new HttpFailure('network', 'POST /api/v1/backup failed: no usable answer came (UND_ERR_SOCKET).');
    };
    const world = new CliWorld({
      cwd,
      answer: () => broken(),
      env: { HEADWORKS_URL: 'http://127.0.0.1:1' },
    });
    expect(await world.start('backup', 'a.backup')).toBe(exitCodes.connection);
    expect(world.err).toMatch(
      /The connection to the server was lost.*a\.backup was not written.*run it again/,
    );
    expect(world.err).not.toContain('should not');
    expect(await readdir(cwd)).toEqual([]);
  });

  it('replaces the file of a killed backup, and keeps that of a running one', async () => {
    const cwd = await temporaryFolder();
    const dead = 2 ** 22 + 1;
    const theirs = `a.backup.${process.ppid}.part`;
    const stale = [`a.backup.${dead}.part`, `headworks-2026-02-28T12-00-00Z.backup.${dead}.part`];
    const notOurs = `thesis.${dead}.part`;
    for (const name of [theirs, notOurs, ...stale]) await writeFile(join(cwd, name), 'half');
    await writeFile(join(cwd, `a.backup.${process.pid}.part`), 'half, of a process with the same id');
    expect(await worldWith(wholeBackup, cwd).start('backup', 'a.backup')).toBe(exitCodes.ok);
    expect((await readdir(cwd)).toSorted()).toEqual(['a.backup', theirs, notOurs].toSorted());
  });

  it('creates no store and no server when there is nothing to back up', async () => {
    const cwd = await temporaryFolder();
    const world = new CliWorld({ cwd });
    expect(await world.start('backup', 'a.backup')).toBe(exitCodes.usage);
    expect(world.err).toContain(`nothing to back up in ${join(cwd, '.headworks')}`);
    expect(world.err).toContain('--data-dir');
    expect(world.configs).toEqual([]);
    expect(await readdir(cwd)).toEqual([]);
  });

  it('prints a remedy when the path cannot be written', async () => {
    const world = worldWith(wholeBackup, await temporaryFolder());
    expect(await world.start('backup', 'nowhere/a.backup')).toBe(exitCodes.usage);
    expect(world.err).toContain('cannot be written');
  });
});

describe('headworks restore', () => {
  it('rejects a missing file and a remote server', async () => {
    const cwd = await temporaryFolder();
    const world = new CliWorld({ cwd });
    expect(await world.start('restore', 'nothing.backup')).toBe(exitCodes.usage);
    expect(world.err).toContain('does not exist');
    expect(await world.start('restore', '.')).toBe(exitCodes.usage);
    expect(world.err).toContain(`${cwd} is a folder`);
    expect(await world.start('restore', 'nothing.backup', '--server', 'http://127.0.0.1:1')).toBe(
      exitCodes.usage,
    );
    expect(world.err).toContain('on the machine of the store');
    expect(await readdir(cwd)).toEqual([]);
  });
});

describe('headworks migrate-store', () => {
  it('requires a target and an embedded store as the source', async () => {
    const cwd = await temporaryFolder();
    const world = new CliWorld({ cwd, env: { DATABASE_URL: 'postgres://127.0.0.1/a' } });
    expect(await world.start('migrate-store')).toBe(exitCodes.usage);
    expect(world.err).toContain('--to postgres://');
    expect(await world.start('migrate-store', '--to', 'postgres://127.0.0.1/b')).toBe(exitCodes.usage);
    expect(world.err).toContain('is already a Postgres server');
  });
});
