// Measures how light one or more built trees are, interleaved: node scripts/measure-start.ts [--rounds N] TREE...
// Each TREE is a folder with bin/ and dist/ (npm run build). With DATABASE_URL set, also measures on that server.
// Prints the median per tree: CPU seconds are comparable on a busy machine, wall-clock seconds are not.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

/** How long a started server is left idle before its memory is read. */
const idleMs = 5_000;
/** Clock ticks per second in /proc/PID/stat; 100 on every common Linux. */
const ticksPerSecond = 100;

type Figures = Record<string, number>;

const { values, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '3' } },
  allowPositionals: true,
});
const trees = (positionals.length > 0 ? positionals : ['.']).map((tree) => resolve(tree));
const folders = new Map<string, string>();
for (const tree of trees) folders.set(tree, await mkdtemp(join(tmpdir(), 'headworks-measure-')));

const results = new Map<string, Figures[]>(trees.map((tree) => [tree, []]));
// The first round fills the compile cache and initializes the embedded stores; it is reported apart.
for (let round = 0; round <= Number(values.rounds); round++)
  for (const tree of trees) {
    const figures = await measure(tree, folders.get(tree) ?? '');
    if (round === 0) console.log(`first start of ${tree}`, figures);
    else results.get(tree)?.push(figures);
  }
for (const [tree, rounds] of results) console.log(`median of ${tree}`, medians(rounds));
await Promise.all([...folders.values()].map((folder) => rm(folder, { recursive: true, force: true })));

async function measure(tree: string, folder: string): Promise<Figures> {
  const embedded = await serve(tree, folder, {});
  const url = process.env['DATABASE_URL'];
  const schema = `measure_${trees.indexOf(tree)}`;
  const onServer =
    url === undefined
      ? undefined
      : await serve(tree, `${folder}-server`, { DATABASE_URL: url, HEADWORKS_DATABASE_SCHEMA: schema });
  const help = await command(tree, folder, ['--help']);
  return {
    ...embedded,
    ...(onServer && { serverStartS: onServer['startS'] ?? 0, serverIdleMb: onServer['idleMb'] ?? 0 }),
    helpCpuS: help.cpu,
  };
}

async function serve(tree: string, folder: string, env: Record<string, string>): Promise<Figures> {
  const started = performance.now();
  const server = spawn(process.execPath, [join(tree, 'bin/headworks.cjs'), 'serve'], {
    env: { ...environment(folder), ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = new Promise((done) => server.once('exit', done));
  let printed = '';
  try {
    await new Promise<void>((done, fail) => {
      server.stderr.on('data', (chunk: Buffer) => {
        printed += chunk.toString();
        if (printed.includes('server started')) done();
      });
      server.once('exit', () => fail(new Error(`The server ended: ${printed}`)));
    });
    const startS = (performance.now() - started) / 1000;
    const startCpuS = await cpuSeconds(server.pid ?? 0);
    await sleep(idleMs);
    const idleMb = await residentMb(server.pid ?? 0);
    const attached = 'DATABASE_URL' in env ? undefined : await command(tree, folder, ['jobs', 'list']);
    return {
      startS,
      startCpuS,
      idleMb,
      ...(attached && { attachedS: attached.wall, attachedCpuS: attached.cpu }),
    };
  } finally {
    server.kill('SIGTERM');
    await exited;
  }
}

async function command(
  tree: string,
  folder: string,
  args: readonly string[],
): Promise<{ readonly wall: number; readonly cpu: number }> {
  const timed = spawn(
    'bash',
    [
      '-c',
      'TIMEFORMAT="%R %U %S"; time "$@" >/dev/null 2>&1',
      'bash',
      process.execPath,
      join(tree, 'bin/headworks.cjs'),
      ...args,
    ],
    { env: environment(folder), stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let printed = '';
  timed.stderr.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const code = await new Promise((done) => timed.once('exit', done));
  if (code !== 0) throw new Error(`headworks ${args.join(' ')} failed in ${tree}`);
  const [wall = 0, user = 0, system = 0] = printed.trim().split(' ').map(Number);
  return { wall, cpu: user + system };
}

function environment(folder: string): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env;
  return {
    PATH,
    HOME,
    HEADWORKS_DATA_DIR: folder,
    HEADWORKS_PORT: '0',
    HEADWORKS_LOG_FORMAT: 'json',
    XDG_CACHE_HOME: `${folder}-cache`,
  };
}

async function cpuSeconds(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

function medians(rounds: readonly Figures[]): Figures {
  const names = Object.keys(rounds[0] ?? {});
  return Object.fromEntries(
    names.map((name) => {
      const sorted = rounds.map((figures) => figures[name] ?? 0).sort((one, other) => one - other);
      return [name, Number((sorted[Math.floor(sorted.length / 2)] ?? 0).toFixed(2))];
    }),
  );
}
