// The data folder belongs to one process at a time; an error explains in one line why it cannot be used.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDataFolder, readHolder } from '../../src/platform/data-folder/data-folder.ts';
import { temporaryFolder } from '../support/services.ts';

const options = { version: '1.0.0', command: 'headworks test' };

async function refusal(path: string): Promise<{ code: string; message: string }> {
  const error = await openDataFolder(path, options).then(
    () => ({ code: 'none', message: 'It opened.' }),
    (caught: unknown) => caught as { code: string; message: string },
  );
  expect(error.message).toMatch(/^The data folder [^\n]+$/);
  return error;
}

/** Starts a process on the folder; returns its first line of output. */
async function otherProcess(path: string): Promise<{ child: ChildProcess; output: string }> {
  const program = fileURLToPath(new URL('data-folder-holder.ts', import.meta.url));
  const child = spawn(process.execPath, [program, path], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [output] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { child, output };
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

describe('a data folder', () => {
  it('is created for its owner only, and records its format', async () => {
    const path = join(await temporaryFolder(), 'deep', 'data');
    const folder = await openDataFolder(path, options);
    expect((await stat(path)).mode & 0o777).toBe(0o700);
    for (const file of ['lock.sqlite', 'holder.json', 'format.json'])
      expect((await stat(join(path, file))).mode & 0o777, file).toBe(0o600);
    expect(JSON.parse(await readFile(join(path, 'format.json'), 'utf8'))).toEqual({
      format: 2,
      writtenBy: '1.0.0',
    });
    expect(await readHolder(path)).toEqual(folder.holder);
    await folder.release();
    await folder.release();
    expect(await readHolder(path)).toBeUndefined();
  });

  it('can be locked again after release, in the same process too', async () => {
    const path = await temporaryFolder();
    const folder = await openDataFolder(path, options);
    const error = await refusal(path);
    expect(error).toMatchObject({ code: 'DATA_FOLDER_BUSY' });
    expect(error.message).toContain(`process ${process.pid} (headworks test`);
    await folder.release();
    await (await openDataFolder(path, options)).release();
  });

  it('rejects a second process with the holder in the message', async () => {
    const path = await temporaryFolder();
    const { child, output } = await otherProcess(path);
    expect(output).toBe('held');
    const error = await refusal(path);
    expect(error).toMatchObject({ code: 'DATA_FOLDER_BUSY' });
    expect(error.message).toContain(`process ${child.pid} (headworks serve, since `);
    expect((await otherProcess(path)).output).toBe(error.message);
    await kill(child);
  });

  it('can be locked at once after kill -9 of its holder, whatever the files contain', async () => {
    const path = await temporaryFolder();
    const { child } = await otherProcess(path);
    await kill(child);
    expect(await readHolder(path)).toMatchObject({ pid: child.pid });
    const folder = await openDataFolder(path, options);
    expect(await readHolder(path)).toMatchObject({ pid: process.pid });
    await folder.release();
  });

  it('is rejected when a newer version wrote it, and not changed', async () => {
    const path = await temporaryFolder();
    await writeFile(join(path, 'format.json'), JSON.stringify({ format: 3, writtenBy: '9.0.0' }));
    const error = await refusal(path);
    expect(error).toMatchObject({ code: 'DATA_FOLDER_UNUSABLE' });
    expect(error.message).toMatch(/newer version of Headworks \(9\.0\.0.*Upgrade/);
    expect(await readdir(path)).toEqual(['format.json']);
  });

  it('is rejected when 0.1.0 wrote it, and not changed', async () => {
    const path = await temporaryFolder();
    await writeFile(join(path, 'format.json'), JSON.stringify({ format: 1, writtenBy: '0.1.0' }));
    const error = await refusal(path);
    expect(error).toMatchObject({ code: 'DATA_FOLDER_UNUSABLE' });
    expect(error.message).toBe(
      `The data folder ${path} was created by an earlier version of Headworks (0.1.0), which this version cannot upgrade. Choose another data folder, or keep using that version with this one.`,
    );
    expect(await readdir(path)).toEqual(['format.json']);
  });

  it.each(['', 'not JSON', '{}', '{"format":"1"}'])(
    'is rejected when format.json contains %j',
    async (text) => {
      const path = await temporaryFolder();
      await writeFile(join(path, 'format.json'), text);
      expect(await refusal(path)).toMatchObject({ code: 'DATA_FOLDER_UNUSABLE' });
    },
  );

  it('never exposes a partial format.json while it is written', async () => {
    const parent = await temporaryFolder();
    for (let round = 0; round < 30; round += 1) {
      const file = join(parent, String(round), 'format.json');
      const opening = openDataFolder(join(parent, String(round)), options);
      while (!existsSync(file)) await nextTurn();
      expect(readFileSync(file, 'utf8')).toContain('"writtenBy": "1.0.0"');
      await (await opening).release();
    }
  });

  it('is locked by one of many processes at once; the others fail with DATA_FOLDER_BUSY', async () => {
    const parent = await temporaryFolder();
    for (let round = 0; round < 20; round += 1) {
      const path = join(parent, String(round));
      const outcomes = await Promise.allSettled(
        Array.from({ length: 8 }, () => openDataFolder(path, options)),
      );
      const folders = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      const codes = outcomes.flatMap((outcome) =>
        outcome.status === 'rejected' ? [(outcome.reason as { code: string }).code] : [],
      );
      expect(folders).toHaveLength(1);
      expect(codes).toEqual(Array(7).fill('DATA_FOLDER_BUSY'));
      await folders[0]?.release();
    }
  });

  it('is rejected when it is a file, or below one', async () => {
    const file = join(await temporaryFolder(), 'file');
    await writeFile(file, '');
    for (const path of [file, join(file, 'data')]) {
      const error = await refusal(path);
      expect(error).toMatchObject({ code: 'DATA_FOLDER_UNUSABLE' });
      expect(error.message).toContain('a file');
    }
  });

  it('is rejected where nothing can be created', async () => {
    expect(await refusal('/proc/headworks')).toMatchObject({ code: 'DATA_FOLDER_UNUSABLE' });
  });

  it('is rejected when its lock file cannot be used', async () => {
    const path = await temporaryFolder();
    await mkdir(join(path, 'lock.sqlite'));
    expect(await refusal(path)).toMatchObject({ code: 'DATA_FOLDER_UNUSABLE' });
  });
});
