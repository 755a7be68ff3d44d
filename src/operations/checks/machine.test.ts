import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { resolveConfig } from '../../config/index.ts';
import {
  address,
  adminToken,
  dataFolder,
  folderBytes,
  folderRights,
  openFiles,
  settings,
  versions,
} from './machine.ts';

const gigabyte = 1024 ** 3;
const all = { headworks: '1.2.3', node: '24.1.0', sqlite: '3.50', platform: 'linux x64' };

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describe('checks of the machine', () => {
  it('report every version, and a problem when Node is too old', () => {
    expect(versions(all)).toMatchObject({
      state: 'ok',
      detail: 'Headworks 1.2.3 on Node 24.1.0, SQLite 3.50, linux x64.',
    });
    expect(versions({ ...all, node: '22.9.0' })).toMatchObject({
      state: 'problem',
      remedy: expect.stringContaining('Node 24') as string,
    });
  });

  it('warn of an address that other machines can reach', () => {
    expect(address({ host: '127.0.0.1' }).state).toBe('ok');
    expect(address({ host: '0.0.0.0' })).toMatchObject({
      state: 'warning',
      remedy: expect.stringContaining('HEADWORKS_ALLOWED_HOSTS') as string,
    });
  });

  it('warn of a nearly full disk, with a command that can be copied', async () => {
    const folder = await temporaryFolder();
    expect((await dataFolder(folder, async () => gigabyte)).state).toBe('ok');
    expect(await dataFolder(folder, async () => gigabyte / 2)).toMatchObject({
      state: 'warning',
      detail: `${folder}, 512 MiB free.`,
      remedy: expect.stringContaining('"headworks vault prune --older-than 90"') as string,
    });
    expect((await dataFolder(folder, async () => 0)).state).toBe('problem');
  });

  it('count the bytes of a folder and its subfolders', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'pg_wal'));
    await writeFile(join(folder, 'a'), 'abc');
    await writeFile(join(folder, 'pg_wal', 'b'), 'de');
    expect(await folderBytes(folder)).toBe(5);
  });

  it('warn of a data folder that other users can access', async () => {
    const folder = await temporaryFolder();
    await chmod(folder, 0o700);
    expect((await folderRights(folder)).state).toBe('ok');
    await chmod(folder, 0o750);
    expect(await folderRights(folder)).toMatchObject({ state: 'warning', remedy: `chmod 700 ${folder}` });
    const odd = join(folder, "sp ace$x'y");
    await mkdir(odd, { mode: 0o755 });
    expect((await folderRights(odd)).remedy).toBe(String.raw`chmod 700 '${folder}/sp ace$x'\''y'`);
  });

  it.skipIf(process.getuid?.() !== 0)('warn of a data folder of another user', async () => {
    const folder = await temporaryFolder();
    const { chown } = await import('node:fs/promises');
    await chown(folder, 12_345, 12_345);
    expect(await folderRights(folder)).toMatchObject({
      state: 'warning',
      detail: expect.stringContaining('12345') as string,
    });
  });

  it('warn of an admin token that other users can read', async () => {
    const cwd = await temporaryFolder();
    const config = resolveConfig({ flags: {}, cwd, env: { HEADWORKS_DATA_DIR: cwd } });
    const path = join(cwd, 'admin-token');
    await writeFile(path, 'token', { mode: 0o600 });
    expect((await adminToken(config)).state).toBe('ok');
    await chmod(path, 0o644);
    expect(await adminToken(config)).toMatchObject({ state: 'warning', remedy: `chmod 600 ${path}` });
    const env = { HEADWORKS_ADMIN_TOKEN: 'configured-0123456789' };
    expect((await adminToken(resolveConfig({ flags: {}, cwd, env }))).detail).toBe('From the configuration.');
  });

  it('warn when the limit of open files is low', () => {
    const limits = (max: string) =>
      `Limit Soft Hard Units\nMax open files            ${max}   524288  files\n`;
    expect(openFiles(limits('4096')).state).toBe('ok');
    expect(openFiles(limits('unlimited')).state).toBe('ok');
    expect(openFiles(null).state).toBe('ok');
    expect(openFiles(limits('1024'))).toMatchObject({
      state: 'warning',
      remedy: expect.stringContaining('ulimit -n') as string,
    });
  });

  it('pass on the warnings of the configuration', () => {
    const config = resolveConfig({ flags: {}, cwd: tmpdir(), env: {} });
    expect(settings(config).state).toBe('ok');
    const resolution = { ...config.resolution, warnings: ['HEADWORKS_PROT is unknown.'] };
    expect(settings({ resolution })).toMatchObject({
      state: 'warning',
      detail: 'HEADWORKS_PROT is unknown.',
    });
  });
});
