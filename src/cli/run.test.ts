import type { Command, Option } from 'commander';
import { describe, expect, it } from 'vitest';
import { CliWorld } from '../../test/support/cli-world.ts';
import { CoreError } from '../core/index.ts';
import { exampleId } from './command.ts';
import { exitCodeMeanings } from './exit-codes.ts';
import { buildProgram } from './program.ts';

function everyCommand(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

/** Words of a command without the program itself. */
function wordsOf(command: Command): readonly string[] {
  return command.parent ? [...wordsOf(command.parent), command.name()] : [];
}

function isRejected(parse: Option['parseArg']): boolean {
  try {
    parse?.('?', undefined);
    return false;
  } catch {
    return true;
  }
}

const { io } = new CliWorld();
const program = await buildProgram({ io, session: null, exitCode: 0 });

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
    '%# has --help with an example, --json and the other global flags',
    async (command) => {
      const world = new CliWorld();
      expect(await world.run(...wordsOf(command), '--help')).toBe(0);
      expect(world.out).toMatch(/^Examples?:\n {2}\$ /m);
      for (const flag of ['--config', '--data-dir', '--server', '--log-level', '--json', '--no-color'])
        expect(world.out).toContain(flag);
    },
  );

  it('asks before everything that deletes or revokes, unless --force is given', () => {
    const risky = commands.filter((command) => ['delete', 'revoke'].includes(command.name()));
    expect(risky.length).toBeGreaterThan(8);
    const silent = risky.filter(({ options }) => options.every(({ long }) => long !== '--force'));
    expect(silent.map((command) => wordsOf(command).join(' '))).toEqual([]);
  });

  it('takes the name of everything that it creates as an argument', () => {
    const named = commands.filter(
      (command) => command.name() === 'create' && command.options.some(({ long }) => long === '--name'),
    );
    expect(named.map((command) => wordsOf(command).join(' '))).toEqual([]);
  });

  it('explains its exit codes', async () => {
    const world = new CliWorld();
    await world.run('--help');
    for (const meaning of Object.values(exitCodeMeanings)) expect(world.out).toContain(meaning);
  });

  it.each([
    ['serve', 'default: 8420'],
    ['worker', 'default: any free port'],
  ])('%s shows the %s of --port', async (name, text) => {
    const world = new CliWorld();
    await world.run(name, '--help');
    expect(world.out.replaceAll(/\s+/g, ' ')).toMatch(new RegExp(`--port <value> [^-]*${text}`));
  });

  it('prints the help of a subcommand with "help limits set"', async () => {
    const world = new CliWorld();
    expect(await world.run('help', 'limits', 'set')).toBe(0);
    expect(world.out).toMatch(/^Usage: headworks limits set /);
  });

  it('describes --no-adaptive as what it turns off', async () => {
    const world = new CliWorld();
    await world.run('extract', 'rest', '--help');
    expect(world.out).toMatch(/--no-adaptive +do not adapt the rate to 429/);
  });

  it('prints its version', async () => {
    const world = new CliWorld();
    expect(await world.run('--version')).toBe(0);
    expect(world.out).toBe('1.2.3\n');
  });
});

describe('an invalid command line', () => {
  it.each([
    [['ledgr'], 'There is no command ledgr. Did you mean ledger? See headworks --help.'],
    [
      ['ledger', 'lst'],
      'There is no command "ledger lst". Did you mean "ledger list"? See headworks ledger --help.',
    ],
    [
      ['jobs', 'xyzzy'],
      'There is no command "jobs xyzzy". Commands: list, get, retry, cancel, watch. See headworks jobs --help.',
    ],
    [['serve', '--prot', '1'], 'There is no option --prot. Did you mean --port? See headworks serve --help.'],
    [
      ['jobs', 'list', '--limit', '0'],
      'The value "0" of --limit is invalid. It must be a whole number from 1 to 500. Example: "--limit 50". See headworks jobs list --help.',
    ],
    [
      ['limits', 'set', 'acme-corp', 'ten'],
      'The value "ten" of <limit> is invalid. It must be a whole number from 1 to 2147483647. Example: "headworks limits set acme-corp 50". See headworks limits set --help.',
    ],
    [
      ['jobs', 'list', '--state', 'odd'],
      'The value "odd" of --state is invalid. Allowed choices are queued, running, completed, failed, canceled, skipped. Example: "headworks jobs list --state failed". See headworks jobs list --help.',
    ],
    [
      ['artifacts', 'get', '123'],
      `The value "123" of <id> is invalid. It must be an id, like ${exampleId}. Example: "headworks artifacts get ${exampleId} --text". See headworks artifacts get --help.`,
    ],
    [['ledger', 'get'], 'The argument <id> is missing. See headworks ledger get --help.'],
    [['keys', 'create'], 'The argument <name> is missing. See headworks keys create --help.'],
    [
      ['ledger', 'resolve'],
      '<id> and --resolution <resolution> are missing. See headworks ledger resolve --help.',
    ],
    [['models', 'create'], '<name> and --base-url <url> are missing. See headworks models create --help.'],
    [
      ['organizations', 'update', 'a'],
      'The option --name <name> is missing. See headworks organizations update --help.',
    ],
    [
      ['organizations', 'update', 'a', '--name'],
      'The option --name <name> needs a value. See headworks organizations update --help.',
    ],
    [
      ['repair', '--kind', 'a', '--id', exampleId],
      '--id <id> cannot be used with --kind <kind>. See headworks repair --help.',
    ],
    [['doctor', 'extra'], 'Too many arguments: expected 0, got 1. See headworks doctor --help.'],
    [
      ['deployments', 'update', 'acme-corp/invoices'],
      'Name at least one setting to change. See headworks deployments update --help.',
    ],
  ] as const)('%j ends with 2 and a suggestion', async (args, message) => {
    const world = new CliWorld();
    expect(await world.run(...args)).toBe(2);
    expect(world.err).toBe(`headworks: ${message}\n`);
    expect(world.out).toBe('');
  });

  const checkedOptions = everyCommand(program).flatMap((command) =>
    command.options
      .filter(({ parseArg }) => isRejected(parseArg))
      .map((option) => [[...wordsOf(command), option.long ?? ''].join(' '), command, option] as const),
  );

  it.each(checkedOptions)(
    '%s with a wrong value states what is permitted',
    async (_name, command, { long }) => {
      const world = new CliWorld();
      expect(await world.run(...wordsOf(command), long ?? '', '?')).toBe(2);
      expect(world.err).toContain(`The value "?" of ${long} is invalid. `);
      expect(world.err).toMatch(/must be .*(from|like|such as) |must be .+ Example: |Allowed choices are /);
      expect(world.err).toMatch(/Example: ".+"|Allowed choices are |like |such as /);
    },
  );

  it('is JSON with --json', async () => {
    const world = new CliWorld();
    expect(await world.run('ledgr', '--json')).toBe(2);
    expect(JSON.parse(world.err)).toEqual({
      error: {
        code: 'USAGE',
        message: 'There is no command ledgr. Did you mean ledger? See headworks --help.',
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
