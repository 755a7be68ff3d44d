// `npm run services -- run` starts missing servers and stops them afterwards, however it ends.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { pingPostgres, pingRedis } from '../../scripts/services/ping.ts';
import { canHaveServers } from '../../scripts/services/server-tree.ts';
import { areGone, folderVariable, processesIn } from '../../scripts/services/take-down.ts';

interface Seen {
  readonly pid: number;
  readonly database: string;
  readonly redis: string;
  readonly folder: string;
}

interface Run {
  readonly runner: ChildProcess;
  /** The environment of the command, once it runs. */
  readonly seen: Promise<Seen>;
  readonly ended: Promise<{ code: number | null; output: string }>;
}

const showAnd = (then: string): readonly string[] => [
  process.execPath,
  '-e',
  `const { DATABASE_URL: database, REDIS_URL: redis, ${folderVariable}: folder } = process.env;
   console.log(JSON.stringify({ pid: process.pid, database, redis, folder })); ${then}`,
];
const waitForever = 'setInterval(() => {}, 1000);';

function run(command: readonly string[], given: Record<string, string> = {}): Run {
  const { DATABASE_URL: _database, REDIS_URL: _redis, [folderVariable]: _folder, ...rest } = process.env;
  const runner = spawn(process.execPath, ['scripts/services/main.ts', 'run', ...command], {
    env: { ...rest, ...given },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void runner.kill('SIGKILL'));
  let output = '';
  runner.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const seen = new Promise<Seen>((resolve) =>
    createInterface(runner.stdout).once('line', (line) => resolve(JSON.parse(line) as Seen)),
  );
  const ended = new Promise<{ code: number | null; output: string }>((resolve) =>
    runner.once('close', (code) => resolve({ code, output })),
  );
  return { runner, seen, ended };
}

/** No process uses the folder, the folder is deleted, the command has ended, and no port is open. */
async function expectNothingLeft({ folder, pid, database, redis }: Seen): Promise<void> {
  const isAlive = () => (existsSync(`/proc/${pid}`) ? [pid] : []);
  const isThere = () => (existsSync(folder) ? [1] : []);
  expect(await areGone(() => [...processesIn(folder), ...isAlive(), ...isThere()], 15_000)).toBe(true);
  await expect(pingPostgres(database)).rejects.toThrow();
  await expect(pingRedis(redis)).rejects.toThrow();
}

describe.skipIf(!canHaveServers())('services run', () => {
  it('gives the command both servers, returns its exit code, and stops them', async () => {
    const { runner, seen, ended } = run(showAnd('process.stdin.once("end", () => process.exit(7)).resume()'));
    expect((await ended).code).toBe(7);
    expect(runner.exitCode).toBe(7);
    await expectNothingLeft(await seen);
  });

  it.for(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('stops everything on %s', async (signal) => {
    const { runner, seen, ended } = run(showAnd(waitForever));
    const { database, redis } = await seen;
    await Promise.all([pingPostgres(database), pingRedis(redis)]);
    runner.kill(signal);
    expect((await ended).code).toBeGreaterThan(128);
    await expectNothingLeft(await seen);
  });

  it('stops everything after kill -9, including what the command started', async () => {
    const { runner, seen } = run(
      showAnd(`require('node:child_process').spawn('sleep', ['600'], { detached: true }); ${waitForever}`),
    );
    await seen;
    runner.kill('SIGKILL');
    await expectNothingLeft(await seen);
  });

  it('serves two runs at once with servers of their own', async () => {
    const [one, two] = [run(showAnd('')), run(showAnd(''))];
    expect([(await one.ended).code, (await two.ended).code]).toEqual([0, 0]);
    const [first, second] = [await one.seen, await two.seen];
    expect(first.database).not.toBe(second.database);
    await expectNothingLeft(first);
    await expectNothingLeft(second);
  });

  it('starts only what is missing', async () => {
    const { DATABASE_URL = '' } = process.env;
    const { seen, ended } = run(showAnd(''), { DATABASE_URL });
    expect((await ended).output).toContain('private Redis');
    const { database, redis } = await seen;
    expect(database).toBe(DATABASE_URL);
    expect(redis).toContain('redis://');
  });

  it.for([
    ['DATABASE_URL', 'postgres://someone:hush@127.0.0.1:1/none'],
    ['REDIS_URL', 'redis://:hush@127.0.0.1:1'],
  ] as const)('rejects a %s that does not respond, in one line without its password', async ([name, url]) => {
    const { ended } = run(showAnd(''), { [name]: url });
    const { code, output } = await ended;
    expect(code).toBe(1);
    expect(output.trim().split('\n')).toHaveLength(1);
    expect(output).toContain(`${name} is set, but 127.0.0.1:1 does not serve us`);
    expect(output).not.toContain('hush');
  });

  it('reports a missing command and stops the servers', async () => {
    const { code, output } = await run(['no-such-program']).ended;
    expect(code).toBe(1);
    expect(output).toContain('no-such-program');
  });
});
