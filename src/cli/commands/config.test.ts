import { describe, expect, it } from 'vitest';
import { CliWorld } from '../../../test/support/cli-world.ts';
import { optionReference } from '../../config/index.ts';

const secrets = {
  DATABASE_URL: 'postgres://me:hunter22@db.example/app',
  HEADWORKS_ADMIN_TOKEN: '0123456789abcdef',
};

describe('headworks config', () => {
  it('shows each value with its source, and calls no server', async () => {
    const world = new CliWorld({ env: { HEADWORKS_PORT: '9000' } });
    expect(await world.run('config', '--log-level', 'warn')).toBe(0);
    expect(world.out).toMatch(/^server\.port +9000 +env HEADWORKS_PORT$/m);
    expect(world.out).toMatch(/^logging\.level +warn +flag --log-level$/m);
    expect(world.out).toMatch(/^server\.host +127\.0\.0\.1 +default$/m);
    expect(world.configs).toEqual([]);
  });

  it('masks secrets, also in JSON', async () => {
    for (const args of [[], ['--json']]) {
      const world = new CliWorld({ env: secrets });
      await world.run('config', ...args);
      expect(world.out).toContain('postgres://[hidden]@db.example/app');
      expect(world.out + world.err).not.toMatch(/hunter22|0123456789abcdef/);
    }
  });

  it('is one JSON document with --json', async () => {
    const world = new CliWorld();
    await world.run('config', '--json', '--port', '1');
    const { file, options, warnings } = JSON.parse(world.out) as {
      file: null;
      options: { name: string; value: unknown }[];
      warnings: string[];
    };
    expect({ file, warnings }).toEqual({ file: null, warnings: [] });
    expect(options.find((option) => option.name === 'server.port')).toMatchObject({
      value: 1,
      source: 'flag',
      source_name: '--port',
      env: ['HEADWORKS_PORT'],
    });
  });

  it('prints the reference with --docs', async () => {
    const world = new CliWorld();
    await world.run('config', '--docs');
    expect(world.out).toBe(optionReference());
  });

  it('has colors only on a terminal that supports them', async () => {
    const outOf = async (options: ConstructorParameters<typeof CliWorld>[0], ...args: string[]) => {
      const world = new CliWorld(options);
      await world.run('config', ...args);
      return world.out;
    };
    const escape = '\u001b[';
    expect(await outOf({ isTty: true })).toContain(escape);
    expect(await outOf({})).not.toContain(escape);
    expect(await outOf({ isTty: true, env: { NO_COLOR: '1' } })).not.toContain(escape);
    expect(await outOf({ isTty: true, env: { TERM: 'dumb' } })).not.toContain(escape);
    expect(await outOf({ isTty: true }, '--no-color')).not.toContain(escape);
    expect(await outOf({ isTty: true }, '--json')).not.toContain(escape);
  });
});
