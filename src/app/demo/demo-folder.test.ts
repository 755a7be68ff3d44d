import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/services.ts';
import { openDataFolder } from '../../platform/data-folder/index.ts';
import { deleteDemoFolder, openDemoMemory, writeMemory } from './demo-folder.ts';

const memory = { ports: { looker: 1, models: 2 }, done: ['models'], keys: { acme: 'hwo_1' } };

describe('the folder of the demo', () => {
  it('remembers what the next start has to know', async () => {
    const folder = join(await temporaryFolder(), 'demo');
    expect(await openDemoMemory(folder)).toEqual({ ports: { looker: 0, models: 0 }, done: [], keys: {} });
    await writeMemory(folder, memory);
    expect(await openDemoMemory(folder)).toEqual(memory);
  });

  it('is deleted with everything in it, and not while somebody uses it', async () => {
    const parent = await temporaryFolder();
    const folder = join(parent, 'demo');
    await openDemoMemory(folder);
    await mkdir(join(folder, 'vaults'));
    const held = await openDataFolder(folder, { version: '1' });
    await expect(deleteDemoFolder(folder)).rejects.toMatchObject({ code: 'DATA_FOLDER_BUSY' });
    expect(await readdir(folder)).toContain('vaults');
    await held.release();
    expect(await deleteDemoFolder(folder)).toBe(true);
    expect(await readdir(parent)).toEqual([]);
    expect(await deleteDemoFolder(folder)).toBe(false);
  });

  it.each([
    ['of somebody else', 'admin-token', 'hw_admin_x'],
    ['with a demo.json of somebody else', 'demo.json', '{"what": "a play"}'],
    ['with a demo.json that is none', 'demo.json', 'no JSON'],
  ])('is neither one %s: nothing is written or deleted there', async (_, name, content) => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, name), content);
    for (const touch of [openDemoMemory, deleteDemoFolder])
      await expect(touch(folder)).rejects.toMatchObject({
        code: 'DATA_FOLDER_UNUSABLE',
        message: expect.stringContaining('--data-dir') as string,
      });
    expect(await readdir(folder)).toEqual([name]);
  });
});
