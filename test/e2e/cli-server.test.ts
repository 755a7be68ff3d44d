// The command line with a real server on the embedded store.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderWithStore } from '../support/embedded-database.ts';
import { runHeadworks, startHeadworks } from '../support/headworks-process.ts';
import { temporaryFolder } from '../support/services.ts';

interface Ready {
  readonly state: string;
  readonly url: string;
  readonly admin_token?: string;
}

async function serve(cwd: string) {
  const server = startHeadworks(['serve', '--port', '0', '--json'], cwd);
  await server.printed(/"state":"ready".*\n/);
  return { ...server, ready: JSON.parse(server.stdout().split('\n')[0] ?? '') as Ready };
}

describe('headworks serve', () => {
  it('serves any number of commands, drains at SIGTERM, and shows its admin token only once', async () => {
    const cwd = await folderWithStore();
    const first = await serve(cwd);
    const tokenFile = join(cwd, '.headworks', 'admin-token');
    expect(first.ready).toMatchObject({
      state: 'ready',
      admin_token: readFileSync(tokenFile, 'utf8').trim(),
    });
    expect(statSync(tokenFile).mode & 0o777).toBe(0o600);

    const [doctor, ledger, jobs, repair] = await Promise.all([
      runHeadworks(['doctor', '--json'], cwd),
      runHeadworks(['ledger', '--json'], cwd),
      runHeadworks(['jobs', '--json'], cwd),
      runHeadworks(['repair', '--json'], cwd),
    ]);
    const report = JSON.parse(doctor.stdout) as { checks: { name: string; state: string; detail: string }[] };
    expect(doctor.code).toBe(0);
    expect(report.checks[0]).toMatchObject({ name: 'server', detail: `Runs at ${first.ready.url}.` });
    expect(report.checks.map(({ state }) => state)).not.toContain('problem');
    expect([ledger.code, JSON.parse(ledger.stdout)]).toEqual([0, { entries: [], next: null }]);
    expect([jobs.code, JSON.parse(jobs.stdout)]).toEqual([
      0,
      { jobs: expect.any(Array) as unknown[], next: null },
    ]);
    expect([repair.code, JSON.parse(repair.stdout)]).toMatchObject([0, { still_open: [] }]);

    const elsewhere = await temporaryFolder();
    const env = { HEADWORKS_ADMIN_TOKEN: first.ready.admin_token ?? '' };
    const remote = await runHeadworks(['jobs', '--json', '--server', first.ready.url], elsewhere, env);
    expect(remote.code).toBe(0);
    expect(existsSync(join(elsewhere, '.headworks'))).toBe(false);
    const wrong = { HEADWORKS_ADMIN_TOKEN: 'certainly-not-this-one' };
    const refused = await runHeadworks(['jobs', '--json', '--server', first.ready.url], elsewhere, wrong);
    expect([refused.code, JSON.parse(refused.stderr)]).toMatchObject([
      3,
      { error: { code: 'UNAUTHENTICATED' } },
    ]);

    first.child.kill('SIGTERM');
    expect(await first.ended).toBe(0);
    const second = await serve(cwd);
    expect(second.ready).not.toHaveProperty('admin_token');
    expect(second.stderr()).not.toContain(first.ready.admin_token);
    // The same Ctrl-C twice at once, as npm sends it: it still shuts down cleanly.
    second.child.kill('SIGINT');
    second.child.kill('SIGINT');
    expect(await second.ended).toBe(130);
    expect(second.stdout()).toContain('{"state":"stopped"}');
    expect(existsSync(join(cwd, '.headworks', 'server.json'))).toBe(false);
  });
});

describe('the log of headworks serve', () => {
  it('is JSON from the first line to the last without a terminal, and ends with the stop event', async () => {
    const server = startHeadworks(['serve', '--port', '0'], await folderWithStore());
    await server.printed(/is ready/);
    server.child.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    const lines = server.stderr().trimEnd().split('\n');
    const messages = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
    expect(messages).toEqual(expect.arrayContaining(['server started', 'server is stopping']));
    expect(messages.at(-1)).toBe('server has stopped');
  });
});

describe('a command', () => {
  it('exits with 3 and one line when no server listens at --server', async () => {
    const cwd = await temporaryFolder();
    const env = { HEADWORKS_ADMIN_TOKEN: 'certainly-not-this-one' };
    const { code, stderr: err } = await runHeadworks(['ledger', '--server', 'http://127.0.0.1:1'], cwd, env);
    expect(code).toBe(3);
    expect(err).toMatch(/^headworks: .*http:\/\/127\.0\.0\.1:1.*\n$/);
  });
});
