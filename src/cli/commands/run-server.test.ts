import { describe, expect, it } from 'vitest';
import { CliWorld, fakeServer } from '../../../test/support/cli-world.ts';
import { CoreError } from '../../core/index.ts';

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('headworks serve', () => {
  it('prints its address, runs until SIGTERM, drains, and exits with 0', async () => {
    const server = fakeServer();
    const world = new CliWorld({ startServer: () => Promise.resolve(server) });
    const exit = world.start('serve');
    await settle();
    expect(world.out).toMatch(
      /address +http:\/\/127\.0\.0\.1:8420\n.*docs +http:\/\/127\.0\.0\.1:8420\/docs/s,
    );
    expect(world.out).toMatch(/admin token +in \/nonexistent-for-tests\/\.headworks\/admin-token/);
    expect(server.stops()).toBe(0);
    world.interrupt('SIGTERM');
    expect(await exit).toBe(0);
    expect(server.stops()).toBe(1);
  });

  it('exits with 130 after Ctrl-C, also after draining', async () => {
    const server = fakeServer();
    const world = new CliWorld({ startServer: () => Promise.resolve(server) });
    const exit = world.start('serve');
    await settle();
    world.interrupt('SIGINT');
    expect(await exit).toBe(130);
    expect(server.stops()).toBe(1);
  });

  it('ends when the server stops by itself, and fails when the server fails', async () => {
    const gone = new CliWorld({
      startServer: () => Promise.resolve(fakeServer({ stopped: Promise.resolve() })),
    });
    expect(await gone.start('serve')).toBe(0);
    const broken = new CliWorld({
      startServer: () =>
        Promise.resolve(
          fakeServer({ stopped: Promise.reject(new CoreError('STATE_UNUSABLE', 'The store broke.')) }),
        ),
    });
    expect(await broken.start('serve')).toBe(3);
    expect(broken.err).toContain('headworks: The store broke.');
  });

  it('prints a generated token, and never a configured one', async () => {
    const made = new CliWorld({
      startServer: () => Promise.resolve(fakeServer({ newAdminToken: 'hw_admin_new' })),
    });
    void made.start('serve');
    await settle();
    expect(made.out).toContain('hw_admin_new (shown only this once; kept in');
    const configured = new CliWorld({ env: { HEADWORKS_ADMIN_TOKEN: '0123456789abcdef' } });
    void configured.start('serve');
    await settle();
    expect(configured.out).toContain('as configured');
    expect(configured.out).not.toContain('0123456789abcdef');
  });

  it('prints one JSON object per line with --json', async () => {
    const world = new CliWorld();
    const exit = world.start('serve', '--json');
    await settle();
    world.interrupt('SIGTERM');
    await exit;
    const lines = world.out.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({ state: 'ready', role: 'serve', url: 'http://127.0.0.1:8420' }),
      { state: 'stopped' },
    ]);
    expect(world.err).toBe('');
  });

  it('passes flags on, and prints announcements of the start', async () => {
    const world = new CliWorld({
      startServer: (config, { announce }) => {
        announce?.(`Opening port ${config.server.port}.`);
        return Promise.resolve(fakeServer({ stopped: Promise.resolve() }));
      },
    });
    await world.start('serve', '--port', '0', '--log-format', 'pretty');
    expect(world.err).toContain('Opening port 0.\n');
  });

  it.each([
    ['on a terminal', { isTty: true }, []],
    ['with --log-format pretty', {}, ['--log-format', 'pretty']],
  ])('prints that it stops and has stopped %s', async (_where, options, flags) => {
    const world = new CliWorld(options);
    const exit = world.start('serve', ...flags);
    await settle();
    world.interrupt('SIGTERM');
    await exit;
    expect(world.err).toBe('Stopping; Ctrl-C again stops at once.\nStopped.\n');
  });

  it.each([
    ['without a terminal', {}, []],
    ['with --log-format json', { isTty: true }, ['--log-format', 'json']],
  ])('writes only JSON lines beside its log %s', async (_where, options, flags) => {
    const server = fakeServer();
    const world = new CliWorld({
      ...options,
      startServer: (_config, { announce }) => {
        announce?.('Waiting for the data folder.');
        return Promise.resolve(server);
      },
    });
    const exit = world.start('serve', ...flags);
    await settle();
    world.interrupt('SIGTERM');
    await exit;
    expect(JSON.parse(world.err)).toEqual({
      level: 'info',
      time: '2026-03-01T12:00:00.000Z',
      msg: 'Waiting for the data folder.',
    });
  });
});

describe('headworks worker', () => {
  it('is running background jobs until it is stopped', async () => {
    const world = new CliWorld({ env: { DATABASE_URL: 'postgres://h/d', REDIS_URL: 'redis://h' } });
    const exit = world.start('worker');
    await settle();
    expect(world.out).toContain('is running background jobs');
    world.interrupt('SIGTERM');
    expect(await exit).toBe(0);
  });
});
