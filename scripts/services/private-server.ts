// A private server process: started on a free loopback port, stopped, killed, paused, started again.
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { chown, mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../src/core/errors.ts';
import { lastLines } from './run-command.ts';
import { serverUser } from './server-user.ts';
import { areGone, endServers, processesIn, signalAll } from './take-down.ts';

export interface PrivateServer {
  /** URL with user and password; the same after a restart. */
  readonly url: string;
  /** Id of the main process; it changes with a restart. */
  readonly pid: number;
  /** Shuts it down gracefully. Its data on disk stays for `restart`. */
  stop(): Promise<void>;
  /** Kills all its processes, as a power failure would. */
  kill(): Promise<void>;
  /** Starts it again (stops it first if it runs), on the same port, with the same password and data. */
  restart(): Promise<void>;
  /** Pauses it: connections stay open without responses. */
  pause(): void;
  resume(): void;
}

export interface ServerPlan {
  readonly name: string;
  /** Folder of this server only: the working directory of all its processes. */
  readonly folder: string;
  readonly program: string;
  readonly arguments: (port: number) => readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly url: (port: number) => string;
  /** Resolves when this server responds at its address. */
  readonly ping: (url: string) => Promise<void>;
}

const startTimeoutMs = 60_000;
const portTries = 5;

/** A folder for one server, which only the user it runs as can read. */
export async function serverFolder(parent: string, name: string): Promise<string> {
  const folder = join(parent, name);
  await mkdir(folder, { mode: 0o700 });
  const user = serverUser();
  if (user) await chown(folder, user.uid, user.gid);
  return folder;
}

/** Writes a file that only the user the server runs as can read. */
export async function writeForServer(file: string, text: string): Promise<void> {
  await writeFile(file, text, { mode: 0o600 });
  const user = serverUser();
  if (user) await chown(file, user.uid, user.gid);
}

/** Starts it. Rejects with the end of its log when it does not start. */
export async function startPrivateServer(plan: ServerPlan): Promise<PrivateServer> {
  const { port, pid: firstPid } = await launchOnFreePort(plan);
  const url = plan.url(port);
  let pid = firstPid;
  const find = () => processesIn(plan.folder);
  return {
    url,
    get pid() {
      return pid;
    },
    stop: () => endServers(plan.folder),
    async kill() {
      signalAll(find(), 'SIGKILL');
      if (!(await areGone(find, 10_000))) throw new Error(`${plan.name} survived SIGKILL.`);
    },
    async restart() {
      await endServers(plan.folder);
      pid = await launch(plan, port);
    },
    pause: () => signalAll(find(), 'SIGSTOP'),
    resume: () => signalAll(find(), 'SIGCONT'),
  };
}

async function launchOnFreePort(plan: ServerPlan): Promise<{ port: number; pid: number }> {
  for (let tries = 1; ; tries += 1) {
    const port = await freePort();
    try {
      return { port, pid: await launch(plan, port) };
    } catch (error) {
      // The port may have been taken between the check and the start.
      if (tries === portTries || !/address already in use/i.test(messageOf(error))) throw error;
    }
  }
}

async function launch(plan: ServerPlan, port: number): Promise<number> {
  const logFile = join(plan.folder, 'log');
  const log = await open(logFile, 'w');
  const server = spawn(plan.program, plan.arguments(port), {
    cwd: plan.folder,
    env: plan.environment,
    ...serverUser(),
    detached: true, // Ctrl-C must not reach the servers; `takeDown` stops them
    stdio: ['ignore', log.fd, log.fd],
  });
  const spawned = once(server, 'spawn');
  try {
    await spawned;
  } finally {
    await log.close();
  }
  server.unref();
  const failure = await waitUntilUp(plan, plan.url(port), () => server.exitCode ?? server.signalCode);
  if (failure === undefined && server.pid !== undefined) return server.pid;
  await endServers(plan.folder);
  const lines = lastLines(await readFile(logFile, 'utf8'), 5);
  throw new Error(`${plan.name} did not start (${failure}): ${lines}`);
}

/** Undefined when it responds, otherwise the reason. */
async function waitUntilUp(
  plan: ServerPlan,
  url: string,
  ended: () => number | string | null,
): Promise<string | undefined> {
  for (const start = performance.now(); ; await sleep(30)) {
    if (ended() !== null) return `it ended with ${ended()}`;
    try {
      await plan.ping(url);
      return undefined;
    } catch (error) {
      if (performance.now() - start > startTimeoutMs) return messageOf(error);
    }
  }
}

/** Below the ports of outgoing connections, one of which could take that of a server while it restarts. */
const firstPort = 12_000;
const lastPort = 32_000;

async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = randomInt(firstPort, lastPort);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    server.close();
    if (isFree) return port;
  }
  throw new Error(`No free port on 127.0.0.1 between ${firstPort} and ${lastPort}.`);
}
