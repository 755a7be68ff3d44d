// Invalid settings of an extraction: all problems together, one per line, without secrets.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { CliWorld } from '../support/cli-world.ts';
import { environmentFor, extractLooker, simulatedLooker } from '../support/extraction-runs.ts';
import { temporaryFolder } from '../support/services.ts';

async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}, yaml = '') {
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, 'api.yaml'), yaml);
  const world = new CliWorld({ env, cwd });
  return { exitCode: await world.start('extract', ...args), err: world.err, out: world.out };
}

/** A vault as 0.1.0 wrote it: its own application id, and tables. */
function createFirstVault(path: string): void {
  const db = new DatabaseSync(path);
  db.exec('PRAGMA application_id = 1213683284; CREATE TABLE items (id TEXT)');
  db.close();
}

const looker = {
  LOOKER_BASE_URL: 'http://127.0.0.1:1',
  LOOKER_CLIENT_ID: 'id',
  LOOKER_CLIENT_SECRET: 'secret-1',
};

describe('an existing vault', () => {
  it.each([[], ['--dry-run']])(
    'of 0.1.0 is reported before the source is contacted (%s)',
    async (...flags) => {
      const vault = join(await temporaryFolder(), 'first.vault');
      createFirstVault(vault);
      const { exitCode, err } = await run(['looker', '--vault', vault, ...flags], looker);
      expect(err).toMatch(/first\.vault.*0\.1\.0/);
      expect(err).not.toMatch(/127\.0\.0\.1/);
      expect(exitCode).toBe(1);
    },
  );
});

describe('a source file', () => {
  it('reports all problems, one per line, whatever their names look like', async () => {
    const yaml = [
      'name: api',
      'base_url: ftp://x',
      'auth: { type: bearer, token: 7 }',
      'headers: { Authorization: 5, Cookie: 6 }',
      'resources: []',
    ].join('\n');
    const { exitCode, err } = await run(['rest', '--source', 'api.yaml'], {}, yaml);
    expect(exitCode).toBe(2);
    const lines = err.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^headworks: The source has \d+ problems:$/);
    for (const place of ['base_url', 'auth.token', 'headers.Authorization', 'headers.Cookie', 'resources'])
      expect(lines.some((line) => line.startsWith('  - ') && line.includes(` ${place}: `))).toBe(true);
    expect(err).not.toContain('[redacted]');
  });

  it.each([
    ['nope.yaml', /The source file \S*nope\.yaml does not exist\. Check the path\./],
    ['.', /The source file \S* is a folder\. Name the YAML file in it\./],
  ])('that cannot be read (%s) is reported in words, with what to do', async (file, message) => {
    const { exitCode, err } = await run(['rest', '--source', file]);
    expect(exitCode).toBe(2);
    expect(err).toMatch(message);
    expect(err).not.toMatch(/ENOENT|EISDIR|errno|syscall/);
  });

  it('whose aliases expand to too much is a configuration problem', async () => {
    const yaml = `a: &a [${'x,'.repeat(20)}]\nb: &b [${'*a,'.repeat(20)}]\nc: [${'*b,'.repeat(20)}]`;
    const { exitCode, err } = await run(['rest', '--source', 'api.yaml'], {}, yaml);
    expect(exitCode).toBe(2);
    expect(err).toMatch(/line 1: its aliases .* write them out/);
  });

  it('reports them together with unusable folders', async () => {
    const env = { HEADWORKS_EXTRACTION_FOLDERS: '12' };
    const { exitCode, err } = await run(['rest', '--source', 'api.yaml'], env, 'name: 1');
    expect(exitCode).toBe(2);
    expect(err).toContain('a REST source has no folders');
    expect(err).toContain('base_url: is missing');
  });

  it('is offered no folders', async () => {
    expect((await run(['rest', '--help'])).out).not.toMatch(/--folders|--recursive/);
    expect((await run(['looker', '--help'])).out).toMatch(/--folders <values>/);
  });
});

describe('Looker', () => {
  it('reports unknown types, missing credentials and a filter without effect at once', async () => {
    const { exitCode, err } = await run(['looker', '--types', 'users,dragons', '--folders', '12']);
    expect(exitCode).toBe(2);
    for (const text of [
      'LOOKER_CLIENT_SECRET',
      'there is no type "dragons"',
      '--types names only users, dragons',
    ])
      expect(err).toContain(text);
  });

  it('reports that folders do not apply to these types', async () => {
    const { exitCode, err } = await run(['looker', '--types', 'users,groups', '--folders', '12'], looker);
    expect(exitCode).toBe(2);
    expect(err).toContain('is for dashboards and looks, and --types names only users, groups');
  });

  it('reports settings without effect', async () => {
    const simulator = await simulatedLooker({ items: { users: 1, dashboards: 1, folders: 2 } });
    const { events } = await extractLooker(
      simulator,
      await temporaryFolder(),
      { types: 'users,dashboards', folders: '1' },
      { env: { ...environmentFor(simulator), LOOKERSDK_VERIFY_SSL: 'false' } },
    );
    const ignored = events.filter(({ name }) => name === 'extraction:setting-ignored');
    expect(ignored.map(({ payload }) => payload['setting'])).toEqual(['--folders', 'LOOKERSDK_VERIFY_SSL']);
  });

  it('names the existing flag', async () => {
    const { err } = await run(['looker'], { ...looker, HEADWORKS_EXTRACTION_ADAPTIVE: 'perhaps' });
    expect(err).toContain('extraction.adaptive (--no-adaptive, HEADWORKS_EXTRACTION_ADAPTIVE)');
  });
});
