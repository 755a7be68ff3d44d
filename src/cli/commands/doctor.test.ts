import { describe, expect, it } from 'vitest';
import { CliWorld } from '../../../test/support/cli-world.ts';
import { CoreError } from '../../core/index.ts';

const check = (state: string, remedy: string | null = null) => ({
  name: `is ${state}`,
  state,
  detail: 'Detail.',
  remedy,
});
const answering = (...checks: object[]) => new CliWorld({ answer: () => ({ state: 'x', checks }) });

describe('headworks doctor', () => {
  it('ends with 0 when nothing failed, warnings and missing options included', async () => {
    const world = answering(check('ok'), check('warning', 'Look at it.'), check('not-configured', 'Set it.'));
    expect(await world.run('doctor')).toBe(0);
    expect(world.out).toMatch(/^ok +server +Runs at http:\/\/127\.0\.0\.1:8420\.\n/);
    expect(world.out).toMatch(/warning +is warning +Detail\.\n +Look at it\.\n/);
    expect(world.out).toContain('Nothing failed; 1 warning.');
  });

  it('ends with 1 when a check failed', async () => {
    const world = answering(check('ok'), check('problem', 'Do this.'));
    expect(await world.run('doctor')).toBe(1);
    expect(world.out).toMatch(/PROBLEM +is problem +Detail\.\n +Do this\./);
    expect(world.out).toContain('1 of 3 checks failed.');
  });

  it('reports a store that keeps the server from starting once, with a remedy', async () => {
    const world = new CliWorld({
      connectFails: new CoreError('STATE_UNUSABLE', 'Wrong password for postgres://u:hunter22@h.'),
    });
    expect(await world.start('doctor', '--json')).toBe(1);
    const refused = {
      state: 'problem',
      detail: 'Wrong password for postgres://u:[redacted]@h.',
      remedy: expect.stringContaining('headworks config') as string,
    };
    expect(JSON.parse(world.out)).toMatchObject({
      state: 'problem',
      checks: expect.arrayContaining([
        // The problem is reported once, by the check of the store.
        {
          name: 'server',
          state: 'not-configured',
          detail: 'None is running, and none could be started: see the check "state store".',
          remedy: null,
        },
        // None of these needs the server, nor its store.
        expect.objectContaining({ name: 'version', state: 'ok' }),
        expect.objectContaining({ name: 'open files' }),
        expect.objectContaining({ name: 'data folder' }),
        { name: 'state store', ...refused },
        expect.objectContaining({ name: 'redis', state: 'not-configured' }),
      ]) as object[],
    });
    expect(world.out).not.toContain('hunter22');
  });

  it('shows an invalid configuration as a failed check, and checks with its valid part', async () => {
    const env = { HEADWORKS_PORT: 'x', HEADWORKS_DATA_DIR: '/nonexistent/chosen' };
    const world = new CliWorld({ env });
    expect(await world.start('doctor')).toBe(1);
    expect(world.out).toMatch(/PROBLEM +configuration +The configuration is not valid: server\.port/);
    expect(world.out).toMatch(/off +data folder +\/nonexistent\/chosen does not exist/);
    expect(world.out).toMatch(/ok +version/);
  });

  it('does not wait for a store that hangs while a server starts', async () => {
    const world = new CliWorld({
      env: { DATABASE_URL: 'postgres://u@127.0.0.1:1/x' },
      connectHangs: true,
    });
    const run = world.start('doctor', '--json');
    await expect.poll(() => world.keys).toHaveLength(1);
    await world.clock.advance(20_000);
    expect(await run).toBe(1);
    const { checks } = JSON.parse(world.out) as { checks: { name: string; detail: string }[] };
    expect(checks[0]).toMatchObject({
      name: 'server',
      detail: expect.stringContaining('within 20 s') as string,
    });
    expect(checks.find(({ name }) => name === 'state store')).toMatchObject({
      state: 'problem',
      detail: expect.stringContaining('ECONNREFUSED') as string,
    });
  });

  it('does not check this machine when the server is remote', async () => {
    const world = new CliWorld({ connectFails: new CoreError('SERVER_UNREACHABLE', 'Gone.') });
    expect(await world.run('doctor', '--server', 'http://elsewhere.example', '--json')).toBe(1);
    expect(JSON.parse(world.out)).toMatchObject({ checks: [{ name: 'server', detail: 'Gone.' }] });
    expect((JSON.parse(world.out) as { checks: object[] }).checks).toHaveLength(1);
  });

  it('does not report an interruption as a failed check', async () => {
    const world = new CliWorld({
      answer: () => {
        world.interrupt();
        throw new CoreError('SERVER_UNREACHABLE', 'Gone.');
      },
    });
    expect(await world.run('doctor')).toBe(130);
    expect(world.out).toBe('');
  });
});
