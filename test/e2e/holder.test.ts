// One server, many clients: real processes that start, end, and are killed on one embedded store.
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderWithStore } from '../support/embedded-database.ts';
import { runHeadworks, startHeadworks } from '../support/headworks-process.ts';
import { temporaryFolder } from '../support/services.ts';

async function serverFile(folder: string): Promise<{ pid: number; role: string; url: string }> {
  return JSON.parse(await readFile(join(folder, '.headworks', 'server.json'), 'utf8'));
}

async function metricsOf(folder: string): Promise<string> {
  const { url } = await serverFile(folder);
  const token = (await readFile(join(folder, '.headworks', 'admin-token'), 'utf8')).trim();
  return (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).text();
}

describe('commands on one embedded store', () => {
  it('all work when started at once on a fresh folder, and leave nothing behind', async () => {
    const folder = await temporaryFolder();
    const runs = await Promise.all(
      ['doctor', 'jobs', 'ledger', 'doctor', 'jobs'].map((command) =>
        runHeadworks([command, '--json'], folder),
      ),
    );
    for (const run of runs) expect(run, run.stderr).toMatchObject({ code: 0 });
    await expect(stat(join(folder, '.headworks', 'server.json'))).rejects.toThrow('ENOENT');
  });

  it('continue when the process that holds the store is killed', async () => {
    const folder = await folderWithStore();
    const first = startHeadworks(['jobs', 'watch', '--json'], folder);
    await expect.poll(() => serverFile(folder).catch(() => null)).not.toBeNull();
    const second = startHeadworks(['jobs', 'watch', '--json'], folder);
    await expect.poll(() => metricsOf(folder)).toMatch(/headworks_clients_attached 1/);
    first.child.kill('SIGKILL');
    await first.ended;
    await expect.poll(async () => (await serverFile(folder)).pid).toBe(second.child.pid);
    const doctor = await runHeadworks(['doctor', '--json'], folder);
    expect(doctor, doctor.stderr).toMatchObject({ code: 0 });
    second.child.kill('SIGINT');
    expect(await second.ended).toBe(130);
  });

  it('hand over to "headworks serve" and continue as its clients', async () => {
    const folder = await folderWithStore();
    const watch = startHeadworks(['jobs', 'watch', '--json'], folder);
    await expect.poll(() => serverFile(folder).catch(() => null)).not.toBeNull();
    const serve = startHeadworks(['serve', '--port', '0', '--json'], folder);
    await serve.printed(/"state":"ready"/);
    expect(await serverFile(folder)).toMatchObject({ role: 'serve', pid: serve.child.pid });
    await expect.poll(() => metricsOf(folder)).toMatch(/headworks_clients_attached 1/);
    const another = await runHeadworks(['serve', '--port', '0'], folder);
    expect(another.code).toBe(1);
    expect(another.stderr).toMatch(new RegExp(`${serve.child.pid}`));
    watch.child.kill('SIGINT');
    expect(await watch.ended).toBe(130);
    serve.child.kill('SIGTERM');
    expect(await serve.ended).toBe(0);
  });
});
