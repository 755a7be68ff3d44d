import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/services.ts';
import { readServerFile, removeServerFile, writeServerFile } from './server-file.ts';

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
