// headworks demo without a server: its fixed settings and its output. End to end: test/e2e/demo.test.ts.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { FakeCall } from '../../../test/support/cli-world.ts';
import { CliWorld, fakeServer } from '../../../test/support/cli-world.ts';
import { temporaryFolder } from '../../../test/support/services.ts';
import { writeDemoState } from '../../operations/demo/folder.ts';
import { CoreError } from '../../core/index.ts';

// oxfmt-ignore
const allDone = ['models', 'extraction', 'changes', 'documents', 'vault', 'review', 'tenants', 'executions', 'throttled'];

/** A folder in which an earlier demo has done everything. */
async function doneIn(parent: string): Promise<string> {
  const folder = join(parent, 'demo');
  await mkdir(folder, { recursive: true });
  const ports = { looker: 0, models: 0 };
  await writeDemoState(folder, { ports, done: allDone, keys: { brightline: 'hwo_key' } });
  return folder;
}

function answer({ method, path }: FakeCall): unknown {
  if (path === '/api/v1/dashboard/login-links') return { path: '/dashboard/login#once' };
  if (method !== 'GET') return {};
  if (path === '/api/v1/limits') return { limits: [{ organization_name: 'brightline', limit: 7 }] };
  if (path === '/api/v1/knowledge/pairs') return { pairs: [] };
  if (path === '/api/v1/ledger/kinds') return { kinds: [] };
  return path === '/api/v1/models' ? [] : { sources: [] };
}

const ready = (world: CliWorld) =>
  vi.waitFor(() => expect(world.out + world.err).toMatch(/Ctrl-C stops the server|"ready"/), {
    timeout: 60_000,
  });

describe('headworks demo', () => {
  it('uses embedded stores in its own folder and calls only its simulators, whatever is configured', async () => {
    const cwd = await temporaryFolder();
    const folder = await doneIn(join(cwd, 'here'));
    const env = {
      DATABASE_URL: 'postgres://h/d',
      REDIS_URL: 'not a url',
      HEADWORKS_URL: 'http://h',
      EMBEDDER: 'local',
      GROQ_API_KEY: 'gsk_mine',
    };
    const environments: unknown[] = [];
    const world = new CliWorld({
      cwd,
      env,
      answer,
      startServer: (_config, options) => {
        environments.push(options.env);
        return Promise.resolve(fakeServer());
      },
    });
    const exit = world.start('demo', '--data-dir', 'here');
    await ready(world);
    expect(world.configs[0]).toMatchObject({
      state: { databaseUrl: null },
      redis: { url: null },
      client: { serverUrl: null },
      data: { folder },
      gateway: { models: [] },
      knowledge: { embedder: 'none' },
      logging: { level: 'error' },
    });
    expect(Object.keys(environments[0] as object).filter((name) => !name.startsWith('DEMO_'))).toEqual([]);
    world.interrupt();
    expect(await exit).toBe(130);
    expect(world.openClients).toBe(0);
  });

  it('prints the address, a login link, a key and five commands to try', async () => {
    const cwd = await temporaryFolder();
    await doneIn(join(cwd, "it's here"));
    const env = { npm_package_name: 'headworks', npm_lifecycle_event: 'demo' };
    const world = new CliWorld({ cwd, env, answer });
    const exit = world.start('demo', '--data-dir', "it's here");
    await ready(world);
    expect(world.out.match(/^ {2}\d\. /gm)).toHaveLength(5);
    expect(world.out).toContain('http://127.0.0.1:8420/dashboard/login#once');
    expect(world.out).toContain('hwo_key (organization brightline)');
    expect(world.out).toContain(
      String.raw`npm run -s headworks -- entities review --list --data-dir 'it'\''s here/demo'`,
    );
    world.interrupt();
    await exit;
  });

  it('prints commands that work from source when it is not installed', async () => {
    const cwd = await temporaryFolder();
    await doneIn(join(cwd, '.headworks'));
    const world = new CliWorld({ cwd, answer });
    const exit = world.start('demo');
    await ready(world);
    expect(world.out).toMatch(/^ +node \S+main\.ts entities review --list --data-dir \.headworks\/demo$/m);
    expect(world.out).toMatch(/to start over: node \S+main\.ts demo --reset --data-dir \.headworks$/m);
    expect(world.out).not.toMatch(/(^|: ) *headworks /m);
    world.interrupt();
    await exit;
  });

  it('describes the current state, not that of the first start', async () => {
    const cwd = await temporaryFolder();
    await doneIn(join(cwd, '.headworks'));
    const outputOf = async (changes: Readonly<Record<string, unknown>>) => {
      const world = new CliWorld({ cwd, answer: (call) => changes[call.path] ?? answer(call) });
      const exit = world.start('demo');
      await ready(world);
      world.interrupt();
      await exit;
      return world.out;
    };
    const later = await outputOf({});
    expect(later).toContain('The review queue of names is empty');
    expect(later).toContain('Send three requests at once as brightline. Its limit is 7.');
    expect(later).toMatch(/Models have read every passage.*\n.* ledger list /);
    const pair = { a: { canonical_name: 'Sam Okafor' }, b: { canonical_name: 'S. Okafor' } };
    const fresh = await outputOf({
      '/api/v1/knowledge/pairs': { pairs: [pair] },
      '/api/v1/ledger/kinds': { kinds: [{ kind: 'knowledge.chunk-read-by-rules', open: 1 }] },
    });
    expect(fresh).toContain('Is S. Okafor Sam or Sara?');
    expect(fresh).toMatch(
      /rules read 1 passage\. Let a model read it again\.\n.* models clear-cooldown atlas\/large /,
    );
  });

  it('prints the same as JSON', async () => {
    const cwd = await temporaryFolder();
    await doneIn(join(cwd, '.headworks'));
    const world = new CliWorld({ cwd, answer });
    const exit = world.start('demo', '--json');
    await ready(world);
    const line = JSON.parse(world.out.split('\n')[0] ?? '') as { readonly try: readonly object[] };
    expect(line).toMatchObject({
      state: 'ready',
      role: 'demo',
      login_url: 'http://127.0.0.1:8420/dashboard/login#once',
      organization: 'brightline',
      api_key: 'hwo_key',
    });
    expect(line.try).toHaveLength(5);
    world.interrupt();
    await exit;
  });

  it('stops server and simulators when a step fails, and prints the cause', async () => {
    const cwd = await temporaryFolder();
    await doneIn(join(cwd, '.headworks'));
    const server = fakeServer();
    const world = new CliWorld({
      cwd,
      startServer: () => Promise.resolve(server),
      answer: () => {
        throw new CoreError('STATE_UNAVAILABLE', 'The store is away.');
      },
    });
    expect(await world.start('demo')).not.toBe(0);
    expect(world.err).toContain('The store is away.');
    expect(server.stops()).toBe(1);
    expect(world.openClients).toBe(0);
  });

  it('uses another port when the default one is in use, but not when one was set', async () => {
    const cwd = await temporaryFolder();
    await doneIn(join(cwd, '.headworks'));
    const startServer = (config: { server: { port: number } }) =>
      config.server.port === 0
        ? Promise.resolve(fakeServer({ stopped: Promise.resolve() }))
        : Promise.reject(new CoreError('PORT_UNAVAILABLE', 'The port is in use.'));
    const free = new CliWorld({ cwd, startServer, answer });
    expect(await free.start('demo')).toBe(0);
    expect(free.err).toContain('Port 8420 is in use; the demo uses another one.');
    const withPort = new CliWorld({ cwd, startServer, answer });
    expect(await withPort.start('demo', '--port', '9000')).toBe(1);
    expect(withPort.err).toBe('headworks: The port is in use.\n');
  });
});
