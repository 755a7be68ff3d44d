import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { CliWorld } from '../../test/support/cli-world.ts';
import { CoreError } from '../core/index.ts';
import { exitCodeMeanings } from './exit-codes.ts';
import { buildProgram } from './program.ts';

function everyCommand(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

const { io } = new CliWorld();
const program = await buildProgram(io, { io, session: null, exitCode: 0 });

describe('the program', () => {
  const commands = everyCommand(program).filter((command) => command.name() !== 'help');

  it('has every documented command', () => {
    const names = commands.map((command) => command.name());
    expect(names).toEqual(
      expect.arrayContaining([
        'serve',
        'worker',
        'demo',
        'doctor',
        'config',
        'ledger',
        'repair',
        'jobs',
        'watch',
      ]),
    );
  });

  it.each(commands.map((command) => [command]))(
    '%# shows an example and the global flags',
    async (command) => {
      const words: string[] = [];
      for (let at: Command | null = command; at?.parent; at = at.parent) words.unshift(at.name());
      const world = new CliWorld();
      expect(await world.run(...words, '--help')).toBe(0);
      expect(world.out).toMatch(/^Examples?:\n {2}\$ /m);
      for (const flag of ['--config', '--data-dir', '--server', '--log-level', '--json', '--no-color'])
        expect(world.out).toContain(flag);
    },
  );

  it('explains its exit codes', async () => {
    const world = new CliWorld();
    await world.run('--help');
    for (const meaning of Object.values(exitCodeMeanings)) expect(world.out).toContain(meaning);
  });

  it('prints its version', async () => {
    const world = new CliWorld();
    expect(await world.run('--version')).toBe(0);
    expect(world.out).toBe('1.2.3\n');
  });
});

describe('an invalid command line', () => {
  it.each([
    [['ledgr'], `headworks: unknown command 'ledgr' (Did you mean ledger?) See headworks --help.\n`],
    [['ledger', 'lst'], 'headworks: unknown command "ledger lst"; did you mean "ledger list"?\n'],
    [
      ['jobs', 'xyzzy'],
      'headworks: unknown command "jobs xyzzy"; there are list, get, retry, cancel, watch.\n',
    ],
    [
      ['serve', '--prot', '1'],
      `headworks: unknown option '--prot' (Did you mean --port?) See headworks serve --help.\n`,
    ],
    [
      ['jobs', 'list', '--limit', '0'],
      /'0' is invalid\. It must be a whole number from 1 to 500\. See headworks jobs list --help\.\n/,
    ],
    [['jobs', 'list', '--state', 'odd'], /'odd' is invalid\. Allowed choices are queued, running/],
    [['ledger', 'get'], /missing required argument 'id'\. See headworks ledger get --help\.\n/],
    [['repair', '--kind', 'a', '--id', 'b'], /'--id <id>' cannot be used with option '--kind <kind>'/],
    [['doctor', 'extra'], /too many arguments/],
  ] as const)('%j ends with 2 and a suggestion', async (args, message) => {
    const world = new CliWorld();
    expect(await world.run(...args)).toBe(2);
    expect(world.err).toMatch(message);
    expect(world.err.trimEnd().split('\n')).toHaveLength(1);
    expect(world.out).toBe('');
  });

  it('is JSON with --json', async () => {
    const world = new CliWorld();
    expect(await world.run('ledgr', '--json')).toBe(2);
    expect(JSON.parse(world.err)).toEqual({
      error: {
        code: 'USAGE',
        message: `unknown command 'ledgr' (Did you mean ledger?) See headworks --help.`,
      },
    });
  });

  it('without any command shows the help and ends with 2', async () => {
    const world = new CliWorld();
    expect(await world.run()).toBe(2);
    expect(world.err).toContain('Usage: headworks');
  });
});

describe('an error', () => {
  const failing = (error: Error, env: Record<string, string> = {}) =>
    new CliWorld({ connectFails: error, env });

  it('is one line on stderr, without control characters and secrets', async () => {
    const world = failing(
      new CoreError(
        'STATE_UNUSABLE',
        'Postgres refuses\n\u001b[31mpostgres://u:hunter22@h: 0123456789abcdef',
      ),
      { HEADWORKS_ADMIN_TOKEN: '0123456789abcdef' },
    );
    expect(await world.run('jobs')).toBe(3);
    expect(world.err).toBe('headworks: Postgres refuses [31mpostgres://u:[redacted]@h: [redacted]\n');
  });

  it('is {"error":{code,message}} with --json', async () => {
    const world = failing(new CoreError('SERVER_UNREACHABLE', 'There is no server.'));
    expect(await world.run('ledger', '--json')).toBe(3);
    expect(JSON.parse(world.err)).toEqual({
      error: { code: 'SERVER_UNREACHABLE', message: 'There is no server.' },
    });
    expect(world.out).toBe('');
  });

  it('shows where it happened only at debug level', async () => {
    const error = new CoreError('INTERNAL', 'Broken.', { cause: new Error('deeper') });
    const quiet = failing(error);
    await quiet.run('jobs');
    expect(quiet.err).not.toContain('at ');
    const debug = failing(error);
    await debug.run('jobs', '--log-level', 'debug');
    expect(debug.err).toMatch(/CoreError: Broken\.\n\s+at .*caused by Error: deeper\n\s+at /s);
  });

  it('that is unexpected asks for a report', async () => {
    const world = failing(new TypeError('x is not a function'));
    expect(await world.run('jobs')).toBe(1);
    expect(world.err).toContain('Unexpected error: x is not a function.');
  });

  it('after Ctrl-C is not printed: 130', async () => {
    const world = new CliWorld({
      answer: () => {
        world.interrupt();
        throw new Error('torn down');
      },
    });
    expect(await world.run('jobs')).toBe(130);
    expect(world.err).toBe('');
    expect(world.openClients).toBe(0);
  });

  it('in the configuration lists every problem, one per line, before anything else happens', async () => {
    const world = new CliWorld({ env: { HEADWORKS_PORT: 'x', HEADWORKS_LOG_LEVEL: 'y' } });
    expect(await world.run('jobs')).toBe(2);
    expect(world.err).toMatch(
      /^headworks: The configuration has 2 problems:\n {2}- server\.port .*\n {2}- logging\.level .*\n$/,
    );
    expect(world.configs).toEqual([]);
  });

  it('is only a warning for an unknown variable', async () => {
    const world = new CliWorld({ env: { HEADWORKS_PROT: '1' } });
    expect(await world.run('config', '--json')).toBe(0);
    expect(JSON.parse(world.err)).toMatchObject({
      warning: { message: expect.stringContaining('HEADWORKS_PROT') as string },
    });
    const plain = new CliWorld({ env: { HEADWORKS_PROT: '1' } });
    await plain.run('config');
    expect(plain.err).toContain('headworks: warning: The environment variable HEADWORKS_PROT has no effect');
  });
});
