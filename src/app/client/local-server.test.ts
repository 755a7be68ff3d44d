import { stat, writeFile, chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/services.ts';
import {
  readServerFile,
  removeServerFile,
  writeServerFile,
  ensureAdminToken,
  markAdminTokenSeen,
  readAdminToken,
  Presence,
} from './local-server.ts';
import { systemIds } from '../../core/index.ts';

const file = { pid: 1, url: 'http://127.0.0.1:1', instance: 'a', role: 'serve', version: '0.2.0' } as const;

describe('server.json', () => {
  it('is read as written, and readable by its owner only', async () => {
    const folder = await temporaryFolder();
    await writeServerFile(folder, file);
    expect(await readServerFile(folder)).toEqual(file);
    expect((await stat(join(folder, 'server.json'))).mode & 0o777).toBe(0o600);
  });

  it.each([
    '',
    'nonsense',
    '{}',
    '{"url":5}',
    'null',
    '{"url":"not a url","instance":"x"}',
    '{"url":"ftp://x","instance":"x"}',
  ])('ignores %j', async (text) => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'server.json'), text);
    expect(await readServerFile(folder)).toBeNull();
  });

  it('is removed by its owner only', async () => {
    const folder = await temporaryFolder();
    await writeServerFile(folder, file);
    await removeServerFile(folder, 'another');
    expect(await readServerFile(folder)).not.toBeNull();
    await removeServerFile(folder, 'a');
    expect(await readServerFile(folder)).toBeNull();
  });
});

describe('the admin token', () => {
  it('is generated once, readable by its owner only, and marked as new until it is printed', async () => {
    const folder = await temporaryFolder();
    expect(await readAdminToken(folder, null)).toBeNull();
    const first = await ensureAdminToken(folder, null, systemIds);
    const second = await ensureAdminToken(folder, null, systemIds);
    expect(first.isUnseen).toBe(true);
    expect(second).toEqual(first);
    await markAdminTokenSeen(folder);
    expect(await ensureAdminToken(folder, null, systemIds)).toEqual({ token: first.token, isUnseen: false });
    expect(first.token).toMatch(/^hw_admin_[\w-]{43}$/);
    expect((await stat(join(folder, 'admin-token'))).mode & 0o777).toBe(0o600);
  });

  it('is not read from an invalid file, and its permissions are restored', async () => {
    const folder = await temporaryFolder();
    const file = join(folder, 'admin-token');
    for (const text of ['x\n', 'two lines of\nsixteen letters and more'])
      await writeFile(file, text).then(() =>
        expect(ensureAdminToken(folder, null, systemIds)).rejects.toMatchObject({
          code: 'DATA_FOLDER_UNUSABLE',
        }),
      );
    await writeFile(file, 'a-token-of-some-length');
    await chmod(file, 0o644);
    await ensureAdminToken(folder, null, systemIds);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('comes from the configuration when that has one, and is then not stored', async () => {
    const folder = await temporaryFolder();
    expect(await ensureAdminToken(folder, 'configured-token-123', systemIds)).toEqual({
      token: 'configured-token-123',
      isUnseen: false,
    });
    expect(await readAdminToken(folder, null)).toBeNull();
  });
});

describe('Presence', () => {
  it('is idle at once without clients, and rejects clients from then on', async () => {
    const presence = new Presence();
    await presence.onIdle();
    expect(() => presence.attach()).toThrow(/stopping/);
  });

  it('waits until the last client detaches', async () => {
    const presence = new Presence();
    const detachFirst = presence.attach();
    const detachSecond = presence.attach();
    let isIdle = false;
    const waiting = presence.onIdle().then(() => (isIdle = true));
    detachFirst();
    detachFirst();
    await Promise.resolve();
    expect({ attached: presence.attached, isIdle }).toEqual({ attached: 1, isIdle: false });
    const detachThird = presence.attach();
    detachSecond();
    await Promise.resolve();
    expect(isIdle).toBe(false);
    detachThird();
    await waiting;
    expect({ attached: presence.attached, isIdle }).toEqual({ attached: 0, isIdle: true });
  });

  it('closes while clients are attached', async () => {
    const presence = new Presence();
    presence.attach();
    const waiting = presence.onIdle();
    presence.close();
    await waiting;
    expect(() => presence.attach()).toThrow(
      expect.objectContaining({ code: 'SHUTTING_DOWN', isRetryable: true }),
    );
  });
});
