import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { CliWorld } from '../../../test/support/cli-world.ts';
import { addMigration, makeOlderVault } from '../../../test/support/older-vault.ts';
import { temporaryFolder } from '../../../test/support/services.ts';
import {
  extract,
  itemOf,
  offsetRequest,
  pageOf,
  simplePage,
  source,
  specOf,
  vaultWorld,
  endWith,
} from '../../../test/support/vault-world.ts';

let folder: string;

/** Runs a vault command with its data in `folder`. */
async function run(...args: string[]) {
  const world = new CliWorld({ cwd: folder });
  // Not on virtual time: files are real.
  const exitCode = await world.start('vault', ...args, '--data-dir', folder);
  return { exitCode, out: world.out, err: world.err, calls: world.calls };
}

/** Three sessions: items 0 to 2; then 0 changed and 2 is absent; then 2 is absent again, so it is deleted. */
async function makeVault(name = 'acme.vault'): Promise<void> {
  const world = await vaultWorld(join(folder, 'vaults', name));
  extract(world, [{ ...simplePage(0, 3), total: 3 }]);
  const changed = [...simplePage(0, 1, 'b').items, ...simplePage(1, 1).items];
  for (let session = 2; session <= 3; session++)
    extract(world, [{ ...pageOf(offsetRequest(0, 3), changed), total: 2 }]);
  world.writer.close();
  world.vault.close();
}

beforeEach(async () => {
  folder = await temporaryFolder();
  await mkdir(join(folder, 'vaults'));
});

describe('headworks vault', () => {
  it('lists types, items and sessions without any server', async () => {
    await makeVault();
    const types = await run('list');
    expect(types).toMatchObject({ exitCode: 0, calls: [], err: `From ${source}.\n` });
    expect(types.out).toMatch(/dashboards +2 +1 +44 bytes +3 +completed/);
    expect((await run('list', 'dashboards')).out).toMatch(/0 +b .*\n1 +a /);
    const page = await run('list', 'dashboards', '--deleted', '--limit', '2', '--json');
    expect(JSON.parse(page.out)).toMatchObject({
      items: [
        { type: 'dashboards', id: '0', name: 'b', updated_at: null, deleted_at: null },
        { id: '1', synced_at: '2023-11-14T22:13:20.000Z' },
      ],
      next: '1',
    });
    expect((await run('list', '--sessions')).out).toMatch(
      /\n3 .*completed.*\n2 .*completed.*\n1 .*sequential/,
    );
    expect(JSON.parse((await run('--json')).out)).toMatchObject({
      source,
      types: [{ type: 'dashboards', live: 2 }],
    });
  });

  it('reports that it migrated a vault of an older version', async () => {
    addMigration();
    const path = join(folder, 'vaults', 'old.vault');
    makeOlderVault(path);
    const first = await run('list');
    expect(first).toMatchObject({ exitCode: 0, out: expect.stringMatching(/dashboards +2 /) });
    expect(first.err).toContain(`${path} was migrated from an older version.`);
    expect((await run('list')).err).toBe(`From ${source}.\n`);
  });

  it('shows an item, its versions, and an old version', async () => {
    await makeVault();
    const shown = await run('get', 'dashboards', '0');
    expect(shown.out).toMatch(/name +b\n/);
    expect(shown.out).toContain('{\n  "id": "0",\n  "value": "b"\n}\n');
    expect(JSON.parse((await run('get', 'dashboards', '0', '--at', '1', '--json')).out)).toMatchObject({
      id: '0',
      version: 1,
      data: { id: '0', value: 'a' },
    });
    expect((await run('get', 'dashboards', '2', '--versions')).out).toMatch(/\n1 .*22 bytes.*\n2 .*deleted/);
    expect((await run('get', 'dashboards', '2', '--at', '2')).out).toContain(
      'The item was deleted in this version.',
    );
    expect(await run('get', 'dashboards', '9')).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('has no item 9 of the type dashboards'),
    });
  });

  it('prints no control characters of a source', async () => {
    const world = await vaultWorld(join(folder, 'vaults', 'x.db'));
    const nasty = '\u001b[2J\u009b';
    extract(world, [
      pageOf(offsetRequest(0, 1), [itemOf('1', `{"id":"1","t":"${nasty}"}`, { name: nasty })]),
    ]);
    world.vault.close();
    for (const args of [['list', 'dashboards'], ['get', 'dashboards', '1'], ['diff']])
      // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
      expect((await run(...args)).out).not.toMatch(/[\u001b\u009b]/);
  });

  it('verify exits with 0 when nothing is missing, and with 4 otherwise', async () => {
    await makeVault();
    expect(await run('verify')).toMatchObject({
      exitCode: 0,
      out: 'Checked 3 items, 5 versions and 1 page: nothing is damaged, nothing is missing.\n',
    });
    const world = await vaultWorld(join(folder, 'vaults', 'acme.vault'));
    const { id } = world.vault.sessions.open(specOf({ fresh: true }));
    world.vault.sessions.fail(id, offsetRequest(0, 3), 'http-500', 'It is broken: token=abc123def456');
    world.vault.sessions.finishType(id, 'dashboards', endWith(null));
    world.vault.close();
    const report = await run('verify');
    expect(report.exitCode).toBe(4);
    expect(report.out).toContain('incomplete  dashboards: 1 page failed.\n');
    expect(report.out).toContain(
      'dead letter  dashboards offset:0+3: http-500: It is broken: token=[redacted]\n',
    );
    expect(report.err).toContain('again with --retry-failed, or with --fresh.');
    const json = await run('verify', '--json');
    expect(json.exitCode).toBe(4);
    expect(JSON.parse(json.out)).toMatchObject({
      is_sound: true,
      is_complete: false,
      problem_count: 1,
      dead_letters: [{ page_key: 'offset:0+3' }],
    });
  });

  it('suggests no retry when no page failed', async () => {
    const world = await vaultWorld(join(folder, 'vaults', 'acme.vault'));
    extract(world, [simplePage(0, 2)], 3);
    world.vault.close();
    const { out, err } = await run('verify');
    expect(out).toContain('the source counts 3 items, 2 were received');
    expect(err).toBe('Run "headworks extract" again; if something is still missing then, with --fresh.\n');
  });

  it.each(['repeated', 'short'])('suggests no retry when only lists are incomplete (%s)', async (cause) => {
    await makeVault();
    const { vault } = await vaultWorld(join(folder, 'vaults', 'acme.vault'));
    const { id } = vault.sessions.open(specOf({ fresh: true }));
    vault.sessions.fail(id, offsetRequest(0, 3), cause, 'It led nowhere.');
    vault.sessions.fail(id, offsetRequest(3, 3), 'parent-incomplete', 'Its parent neither.');
    vault.sessions.finishType(id, 'dashboards', endWith(null));
    vault.close();
    const { err } = await run('verify');
    expect(err).toContain('Correct the pagination of the source if it is wrong');
    expect(err).not.toContain('--retry-failed');
  });

  it('compares the last two sessions, or any', async () => {
    await makeVault();
    expect((await run('diff', '--from', '1')).out).toBe(
      '~ dashboards 0  b\n    value: "a" → "b"\n- dashboards 2  a\n' +
        'From session 1 to 3: 0 added, 1 changed, 1 deleted.\n',
    );
    const lines = (await run('diff', '--from', '0', '--to', '1', '--json')).out.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { kind: 'added', id: '0' },
      { kind: 'added', id: '1' },
      { kind: 'added', id: '2' },
      { from: 0, to: 1, added: 3, changed: 0, deleted: 0 },
    ]);
    expect((await run('diff', '--to', '7')).err).toContain('has no session 7');
  });

  it('exports to a folder, and reports when the vault is incomplete', async () => {
    await makeVault();
    const first = await run('export', 'out');
    expect(first).toMatchObject({ exitCode: 0, err: '' });
    expect(first.out).toBe(`${join(folder, 'out')}: 2 files written, 0 unchanged, 0 deleted.\n`);
    expect(JSON.parse(await readFile(join(folder, 'out', 'dashboards', '0.json'), 'utf8'))).toEqual({
      id: '0',
      value: 'b',
    });
    expect(JSON.parse((await run('export', 'out', '--json')).out)).toEqual({
      folder: join(folder, 'out'),
      written: 0,
      unchanged: 2,
      removed: 0,
      incomplete: [],
    });
  });

  it('prunes old versions, and reports which can no longer be compared', async () => {
    await makeVault();
    const prune = async (...args: string[]) => {
      const world = new CliWorld({ cwd: folder });
      let isOver = false;
      const exit = world
        .start('vault', 'prune', ...args, '--data-dir', folder)
        .finally(() => (isOver = true));
      // Files are real, and the pauses between two batches are not.
      while (!isOver) {
        await new Promise((resolve) => setImmediate(resolve));
        await world.clock.advance(0);
      }
      const exitCode = await exit;
      return { exitCode, out: world.out, err: world.err };
    };
    const path = join(folder, 'vaults', 'acme.vault');
    expect(await prune('--older-than', '1', '--keep', '2', '--json')).toMatchObject({
      exitCode: 0,
      out: `${JSON.stringify({ vault: path, versions: 0, bytes: 0, pages: 2 })}\n`,
    });
    expect(await prune('--older-than', '1')).toEqual({
      exitCode: 0,
      out: `${path}: 1 old version (22 bytes) deleted.\n`,
      err: 'The file keeps its size and reuses the space; --compact shrinks it.\n',
    });
    expect((await run('diff', '--from', '1')).out).toBe(
      '~ dashboards 0  b\n    (that version was pruned)\n- dashboards 2  a\n' +
        'From session 1 to 3: 0 added, 1 changed, 1 deleted.\n',
    );
    expect(await run('verify')).toMatchObject({ exitCode: 0 });
    expect(await prune()).toMatchObject({ exitCode: 2, err: expect.stringContaining('--older-than') });
    expect(await prune('--older-than', '1', '--keep', '0')).toMatchObject({ exitCode: 2 });
  });

  it('uses the only vault, or the one that is named', async () => {
    expect(await run('list')).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining('There is no vault in'),
    });
    await makeVault('one.vault');
    await makeVault('two.db');
    expect(await run('list')).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining('There are several vaults in'),
    });
    expect(await run('list', '--vault', 'vaults/two.db')).toMatchObject({ exitCode: 0 });
    await writeFile(join(folder, 'diary'), 'dear diary, '.repeat(1_000));
    expect(await run('list', '--vault', 'diary')).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('it is not a SQLite file'),
    });
    expect(await run('list', '--vault', 'none')).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('there is no such file'),
    });
  });
});
