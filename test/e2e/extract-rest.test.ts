// The example of a REST source with the real command: completed, resumed, rejected.
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { helpDeskCredentials, startHelpDesk } from '../../examples/rest-source/server.ts';
import { runHeadworks } from '../support/headworks-process.ts';
import { temporaryFolder } from '../support/services.ts';

const yaml = fileURLToPath(new URL('../../examples/rest-source/helpdesk.yaml', import.meta.url));
const command = ['extract', 'rest', '--source', yaml, '--batch-size', '10', '--vault', 'helpdesk.vault'];
const quick = ['--rate-limit-per-minute', '1000000', '--rate-limit-per-second', '100000'];

async function helpDesk() {
  const api = await startHelpDesk();
  onTestFinished(() => api.stop());
  const { user, password } = helpDeskCredentials;
  return { api, env: { HELPDESK_URL: api.url, HELPDESK_USER: user, HELPDESK_PASSWORD: password } };
}

/** Ids by type, in the order of the text. */
function idsIn(file: string): Record<string, readonly string[]> {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const rows = db
      .prepare(
        `SELECT type.name AS type, item.id FROM content_items AS item
         JOIN content_types AS type ON type.number = item.content_type ORDER BY item.id`,
      )
      .all();
    const ids: Record<string, string[]> = {};
    for (const { type, id } of rows) (ids[String(type)] ??= []).push(String(id));
    return ids;
  } finally {
    db.close();
  }
}

const sorted = (ids: Readonly<Record<string, readonly string[]>>) =>
  Object.fromEntries(Object.entries(ids).map(([type, all]) => [type, all.toSorted()]));

describe('headworks extract rest', () => {
  it('extracts everything the file describes, and makes no calls the second time', async () => {
    const { api, env } = await helpDesk();
    const folder = await temporaryFolder();
    const first = await runHeadworks([...command, ...quick], folder, env);
    expect(first, first.stderr).toMatchObject({ code: 0 });
    expect(first.stdout).toMatch(/agents +23 +23 +23 +completed/);
    expect(first.stdout).toMatch(/tickets +53 +– +53 +completed/);
    expect(first.stdout).toMatch(/^Complete: 80 items, 12 calls, /m);
    expect(sorted(idsIn(join(folder, 'helpdesk.vault')))).toEqual(sorted(api.ids));
    expect(api.calls).toHaveLength(12);
    const again = await runHeadworks([...command, ...quick], folder, env);
    expect(again).toMatchObject({ code: 0 });
    expect(again.stdout).toContain('Already up to date; no API calls made.');
    expect(api.calls).toHaveLength(12);
    const verified = await runHeadworks(['vault', 'verify', '--vault', 'helpdesk.vault'], folder, env);
    expect(verified).toMatchObject({ code: 0 });
  });

  it('resumes after the maximum of calls and reports this run and all runs', async () => {
    const { api, env } = await helpDesk();
    const folder = await temporaryFolder();
    const some = await runHeadworks(
      [...command, ...quick, '--max-calls', '1', '--workers', '1'],
      folder,
      env,
    );
    expect(some).toMatchObject({ code: 4 });
    expect(some.stdout).toContain('Stopped after 1 call, the maximum: 10 items, 1 call, ');
    const rest = await runHeadworks([...command, ...quick], folder, env);
    expect(rest, rest.stderr).toMatchObject({ code: 0 });
    expect(rest.stderr).toContain('agents: 23 in the vault, 13 read in this run, completed');
    expect(rest.stdout).toMatch(/agents +23 +23 +13 +completed/);
    expect(rest.stdout).toMatch(/^Complete: 70 items, 11 calls, /m);
    expect(rest.stdout).toMatch(/^All runs of this session: 80 items, 12 calls, /m);
    expect(sorted(idsIn(join(folder, 'helpdesk.vault')))).toEqual(sorted(api.ids));
  });

  it('reports a wrong password or file in one line and writes nothing', async () => {
    const { env } = await helpDesk();
    const folder = await temporaryFolder();
    const refused = await runHeadworks(command, folder, { ...env, HELPDESK_PASSWORD: 'not-this-one' });
    expect(refused).toMatchObject({ code: 3, stdout: '' });
    expect(refused.stderr).toMatch(/^headworks: .*HELPDESK_USER and HELPDESK_PASSWORD.*\n$/);
    expect(refused.stderr).not.toContain('not-this-one');
    const unset = await runHeadworks(command, folder, { ...env, HELPDESK_URL: '' });
    expect(unset).toMatchObject({ code: 2, stdout: '' });
    expect(unset.stderr).toContain('HELPDESK_URL');
    const text = await readFile(yaml, 'utf8');
    await writeFile(join(folder, 'odd.yaml'), text.replace('pagination:', 'pages:'));
    const odd = await runHeadworks(['extract', 'rest', '--source', 'odd.yaml'], folder, env);
    expect(odd).toMatchObject({ code: 2, stdout: '' });
    expect(odd.stderr).toMatch(/odd\.yaml.*pages/);
    expect(existsSync(join(folder, 'helpdesk.vault'))).toBe(false);
    expect(existsSync(join(folder, '.headworks', 'vaults'))).toBe(false);
  });
});
