import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/services.ts';
import { openDataFolder } from '../../platform/data-folder/data-folder.ts';
import { deleteDemoFolder, openDemoState, writeDemoState } from './folder.ts';

const state = { ports: { looker: 1, models: 2 }, done: ['models'], keys: { acme: 'hwo_1' } };

describe('the data folder of the demo', () => {
  it('keeps the state that the next start needs', async () => {
    const folder = join(await temporaryFolder(), 'demo');
    expect(await openDemoState(folder)).toEqual({ ports: { looker: 0, models: 0 }, done: [], keys: {} });
    await writeDemoState(folder, state);
    expect(await openDemoState(folder)).toEqual(state);
  });

  it('is deleted with everything in it, but not while it is in use', async () => {
    const parent = await temporaryFolder();
    const folder = join(parent, 'demo');
    await openDemoState(folder);
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
    ['without demo.json', 'admin-token', 'hw_admin_x'],
    ['with a demo.json of another program', 'demo.json', '{"what": "a play"}'],
    ['with an invalid demo.json', 'demo.json', 'no JSON'],
  ])('is rejected %s: nothing is written or deleted', async (_, name, content) => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, name), content);
    for (const touch of [openDemoState, deleteDemoFolder])
      await expect(touch(folder)).rejects.toMatchObject({
        code: 'DATA_FOLDER_UNUSABLE',
        message: expect.stringContaining('--data-dir') as string,
      });
    expect(await readdir(folder)).toEqual([name]);
  });
});
