import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CliWorldOptions } from '../../../test/support/cli-world.ts';
import { CliWorld } from '../../../test/support/cli-world.ts';

const acme = {
  id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
  name: 'acme',
  kind: 'looker',
  schedule: '0 4 * * *',
  is_active: true,
  next_run_at: '2026-03-01T16:00:00.000Z',
  vault: 'acme.vault',
};
const run = {
  id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5c',
  source: 'acme',
  origin: 'schedule',
  state: 'incomplete',
  started_at: '2026-03-01T11:00:00.000Z',
  types: [{ items: 3 }, { items: 4 }],
  calls: 9,
  message: 'Some pages failed.',
};

function world(options: CliWorldOptions = {}): CliWorld {
  return new CliWorld({
    answer: ({ method, path }) => {
      if (path.endsWith('/runs') && method === 'GET') return { runs: [run], next: null };
      if (path.endsWith('/runs')) return { id: run.id, job_id: 'job' };
      return method === 'GET' ? { sources: [acme] } : method === 'POST' ? acme : undefined;
    },
    ...options,
  });
}

describe('headworks sources', () => {
  it('lists sources with their next run', async () => {
    const at = world();
    expect(await at.run('sources')).toBe(0);
    expect(at.out).toMatch(/acme\s+looker\s+0 4 \* \* \*\s+in 4/);
  });

  it('starts a run by name, and reports when no server runs', async () => {
    const attached = world();
    expect(await attached.run('sources', 'run', 'acme')).toBe(0);
    expect(attached.calls.at(-1)).toMatchObject({
      method: 'POST',
      path: `/api/v1/extraction/sources/${acme.id}/runs`,
    });
    expect(attached.out).toContain('is started');
    expect(await attached.run('sources', 'run', 'acme', '--retry-failed')).toBe(0);
    expect(attached.calls.at(-1)).toMatchObject({ body: { fresh: false, retry_failed: true } });
    expect(await attached.run('sources', 'run', 'acme', '--fresh', '--retry-failed')).toBe(2);
    const alone = world({ isOwnServer: true });
    expect(await alone.run('sources', 'run', 'acme')).toBe(0);
    expect(alone.out).toContain('headworks serve');
  });

  it('lists the registered sources when one is unknown', async () => {
    const at = world();
    expect(await at.run('sources', 'delete', 'other', '--force')).toBe(1);
    expect(at.err).toContain('There is no source other. Registered: acme.');
    expect(at.calls.filter(({ method }) => method === 'DELETE')).toEqual([]);
    expect(await at.run('sources', 'delete', 'acme', '--force')).toBe(0);
    expect(at.calls.at(-1)).toMatchObject({ method: 'DELETE' });
  });

  it('registers a source from a YAML file, and rejects invalid YAML', async () => {
    const cwd = await mkdtemp(join(tmpdir(), 'headworks-test-'));
    onTestFinished(() => rm(cwd, { recursive: true }));
    await writeFile(join(cwd, 'acme.yaml'), 'name: acme\nkind: looker\n');
    await writeFile(join(cwd, 'bad.yaml'), 'name: [');
    const at = world({ cwd });
    expect(await at.start('sources', 'create', 'acme.yaml')).toBe(0);
    expect(at.calls.at(-1)).toMatchObject({ method: 'POST', body: { name: 'acme', kind: 'looker' } });
    expect(await at.start('sources', 'create', 'bad.yaml')).toBe(2);
    expect(at.err).toContain('cannot be read as YAML');
  });

  it('lists runs with their items', async () => {
    const at = world();
    expect(await at.run('sources', 'runs', 'acme')).toBe(0);
    expect(at.calls.at(-1)).toMatchObject({ query: { source: 'acme', limit: 20 } });
    expect(at.out).toMatch(/schedule\s+incomplete\s+.*7\s+9\s+Some pages/);
  });
});
