// A data folder of 0.1.0: every command that would use it is rejected with the same sentence and changes nothing in it.
import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { runHeadworks } from '../support/headworks-process.ts';
import { temporaryFolder } from '../support/services.ts';

const yaml = fileURLToPath(new URL('../../examples/rest-source/helpdesk.yaml', import.meta.url));
const env = { HELPDESK_URL: 'http://127.0.0.1:1', HELPDESK_USER: 'u', HELPDESK_PASSWORD: 'p' };

/** As 0.1.0 leaves it: format 1, an embedded store, a vault, an admin token. */
async function olderFolder(): Promise<string> {
  const folder = await temporaryFolder();
  const data = join(folder, '.headworks');
  await mkdir(join(data, 'state'), { recursive: true, mode: 0o700 });
  await mkdir(join(data, 'vaults'));
  await writeFile(join(data, 'format.json'), '{"format": 1, "writtenBy": "0.1.0"}');
  await writeFile(join(data, 'state', 'PG_VERSION'), '17\n');
  await writeFile(join(data, 'vaults', 'looker.vault'), 'SQLite format 3\0');
  await writeFile(join(data, 'admin-token'), 'an-admin-token-of-0-1-0\n', { mode: 0o600 });
  await writeFile(join(folder, 'note.txt'), 'Ann Lee agreed to send the report.');
  await cp(yaml, join(folder, 'source.yaml'));
  return folder;
}

/** Names, content and modes of everything in it. */
async function contentOf(folder: string): Promise<Record<string, string>> {
  const names = await readdir(folder, { recursive: true });
  const entries = names.sort().map(async (name) => {
    const path = join(folder, name);
    const { mode } = await stat(path);
    const bytes = await readFile(path).catch(() => 'a folder');
    return [name, `${mode} ${createHash('sha256').update(bytes).digest('hex')}`] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

it.each([
  'models list',
  'serve --port 0',
  'doctor',
  'dashboard',
  'ingest note.txt',
  'mcp',
  'backup out.backup',
  'restore note.txt',
  'migrate-store --to postgres://127.0.0.1:1/x',
  'extract rest --source source.yaml',
  'extract rest --source source.yaml --vault elsewhere.vault',
  'extract rest --source source.yaml --dry-run',
  'vault list',
  'demo',
])('"headworks %s" rejects a data folder of 0.1.0 and changes nothing in it', async (command) => {
  const folder = await olderFolder();
  const before = await contentOf(folder);
  const { code, stdout, stderr } = await runHeadworks(command.split(' '), folder, env);
  expect(stdout + stderr).toContain(
    `The data folder ${join(folder, '.headworks')} was created by an earlier version of Headworks (0.1.0), which this version cannot upgrade.`,
  );
  expect(code).toBe(1);
  expect(await contentOf(folder)).toEqual(before);
});
