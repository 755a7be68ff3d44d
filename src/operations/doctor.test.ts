import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { resolveConfig } from '../config/index.ts';
import { VirtualClock } from '../../test/support/core/virtual-clock.ts';
import { CoreError } from '../core/index.ts';
import { ok, runChecks } from './checks/check.ts';
import { runOfflineDoctor } from './doctor.ts';

/** A port without a listener. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function configured(env: Readonly<Record<string, string>>) {
  const cwd = await mkdtemp(join(tmpdir(), 'headworks-test-'));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  return resolveConfig({ flags: {}, cwd, env: { HEADWORKS_DATA_DIR: cwd, ...env } });
}

describe('runOfflineDoctor', () => {
  it('runs the checks of the machine while the stores are down', async () => {
    const port = await closedPort();
    const { checks } = await runOfflineDoctor(
      await configured({
        DATABASE_URL: `postgres://u:hunter22@127.0.0.1:${port}/x`,
        REDIS_URL: `redis://127.0.0.1:${port}`,
      }),
      null,
    );
    const named = new Map(checks.map((check) => [check.name, check]));
    for (const name of ['version', 'address', 'folder rights', 'settings'])
      expect(named.get(name)?.state, name).toBe('ok');
    expect([...named.keys()]).toEqual(expect.arrayContaining(['data folder', 'open files']));
    expect(named.get('admin token')?.state).toBe('not-configured');
    expect(named.get('state store')).toMatchObject({
      state: 'problem',
      detail: expect.stringContaining('ECONNREFUSED') as string,
    });
    expect(named.get('redis')?.state).toBe('problem');
    expect(JSON.stringify(checks)).not.toContain('hunter22');
  });

  it('does not connect again to the store that kept the server from starting', async () => {
    const failure = new CoreError('STATE_UNUSABLE', 'The password is refused.');
    const { checks } = await runOfflineDoctor(await configured({}), failure);
    expect(checks.find(({ name }) => name === 'state store')).toMatchObject({
      state: 'problem',
      detail: 'The password is refused.',
    });
    expect(checks.find(({ name }) => name === 'redis')?.state).toBe('not-configured');
  });

  it('reports a missing data folder without creating it', async () => {
    const config = await configured({ HEADWORKS_DATA_DIR: '/nonexistent/for/tests' });
    const { checks } = await runOfflineDoctor(config, null);
    expect(checks.filter(({ detail }) => detail.includes('does not exist'))).toMatchObject([
      { name: 'data folder', state: 'not-configured' },
      { name: 'folder rights', state: 'not-configured' },
      { name: 'admin token', state: 'not-configured' },
    ]);
  });
});

const failing = (error: Error) => () => {
  throw error;
};

describe('runChecks', () => {
  it('returns every check in order, and refers a failed check to the store that is down', async () => {
    const found = await runChecks([
      ['fine', () => ok('Fine.')],
      ['clock', failing(new CoreError('REDIS_UNAVAILABLE', 'Redis is away.'))],
      ['size', failing(new CoreError('STATE_UNAVAILABLE', 'Postgres is away.'))],
      ['other', failing(new Error('EACCES: /d'))],
    ]);
    expect(found).toMatchObject([
      { name: 'fine', state: 'ok' },
      { name: 'clock', state: 'problem', remedy: 'See the check "redis".' },
      { name: 'size', state: 'problem', remedy: 'See the check "state store".' },
      { name: 'other', state: 'problem', detail: expect.stringContaining('EACCES: /d') as string },
    ]);
    expect(found[3]?.remedy).not.toContain('store');
  });

  it('ends a check that hangs after five seconds', async () => {
    const clock = new VirtualClock();
    const hanging = runChecks(
      [
        ['hung', () => new Promise(() => undefined)],
        ['fine', () => ok('Fine.')],
      ],
      clock,
    );
    const found = await clock.run(hanging);
    expect(clock.monotonic()).toBe(5_000);
    expect(found).toMatchObject([
      { state: 'problem', detail: 'The check failed: no response within 5 s' },
      { state: 'ok' },
    ]);
  });
});
