import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { systemIds } from '../../core/index.ts';
import { ensureWebhookSecret } from './webhooks.ts';

async function temporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

it('is generated once and stored for its owner only', async () => {
  const folder = await temporary();
  const source = { configured: null, folder, isShared: false };
  const secret = await ensureWebhookSecret(source, systemIds);
  expect(secret).toMatch(/^[\w-]{43}$/);
  expect(await ensureWebhookSecret(source, systemIds)).toBe(secret);
  const path = join(folder, 'webhook-secret');
  expect((await readFile(path, 'utf8')).trim()).toBe(secret);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

it('is the configured one, which is not stored', async () => {
  const folder = await temporary();
  const source = { configured: 'from-the-configuration', folder, isShared: true };
  expect(await ensureWebhookSecret(source, systemIds)).toBe('from-the-configuration');
  await expect(stat(join(folder, 'webhook-secret'))).rejects.toThrow('ENOENT');
});

it('is not generated when several machines may share the database', async () => {
  const folder = await temporary();
  expect(await ensureWebhookSecret({ configured: null, folder, isShared: true }, systemIds)).toBeNull();
  expect(
    await ensureWebhookSecret({ configured: null, folder: null, isShared: false }, systemIds),
  ).toBeNull();
});

it('names what is wrong with a file that cannot be used', async () => {
  const folder = await temporary();
  await writeFile(join(folder, 'webhook-secret'), 'short');
  await expect(
    ensureWebhookSecret({ configured: null, folder, isShared: false }, systemIds),
  ).rejects.toMatchObject({
    code: 'DATA_FOLDER_UNUSABLE',
    message: expect.stringMatching(/secret for webhooks.*HEADWORKS_WEBHOOK_SECRET/),
  });
});
