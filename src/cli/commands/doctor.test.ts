import { describe, expect, it } from 'vitest';
import { CliWorld } from '../../../test/support/cli-world.ts';
import { CoreError } from '../../core/index.ts';

const check = (state: string, remedy: string | null = null) => ({
  name: `is ${state}`,
  state,
  detail: 'Detail.',
  remedy,
});
const answering = (...checks: object[]) => new CliWorld({ answer: () => ({ status: 'x', checks }) });

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

  it('shows a server it cannot reach as a failed check with a remedy', async () => {
    const world = new CliWorld({
      connectFails: new CoreError('STATE_UNUSABLE', 'Wrong password for postgres://u:hunter22@h.'),
    });
    expect(await world.run('doctor', '--json')).toBe(1);
    expect(JSON.parse(world.out)).toMatchObject({
      status: 'problem',
      checks: [{ name: 'server', state: 'problem', detail: 'Wrong password for postgres://u:[redacted]@h.' }],
    });
  });

  it('shows a wrong configuration as a failed check', async () => {
    const world = new CliWorld({ env: { HEADWORKS_PORT: 'x' } });
    expect(await world.run('doctor')).toBe(1);
    expect(world.out).toMatch(/PROBLEM +configuration +The configuration is not valid: server\.port/);
  });

  it('does not take an interruption for a finding', async () => {
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
