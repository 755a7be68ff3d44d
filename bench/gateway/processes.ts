// The servers of the gateway benchmark, each in its own process on a free loopback port.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export interface Running {
  readonly pid: number;
  readonly url: string;
  stop(): Promise<void>;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Resolves when a server responds on the port. */
export async function run(
  command: readonly string[],
  port: number,
  env: Readonly<Record<string, string>> = {},
  cwd?: string,
): Promise<Running> {
  const [program = 'node', ...args] = command;
  const child = spawn(program, args, {
    stdio: 'ignore',
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
  const url = `http://127.0.0.1:${port}`;
  const endsAt = performance.now() + 240_000;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${command.join(' ')} ended with ${child.exitCode}.`);
    if (await answers(url)) return { pid: child.pid ?? 0, url, stop: () => stop(child) };
    if (performance.now() > endsAt) {
      await stop(child);
      throw new Error(`${command.join(' ')} did not respond within 240 s.`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    await (await fetch(url)).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  const cancel = setTimeout(() => child.kill('SIGKILL'), 5_000);
  await gone;
  clearTimeout(cancel);
}

export const mockProvider = async (delayMs = 0): Promise<Running> => {
  const port = await freePort();
  return run([process.execPath, here('./mock-provider.ts'), String(port), String(delayMs)], port);
};

export const bareProxy = async (upstream: string): Promise<Running> => {
  const port = await freePort();
  return run([process.execPath, here('./bare-proxy.ts'), String(port), upstream], port);
};

/** Headworks on its embedded store, from the built package. */
export const headworks = async (folder: string, token: string, processes = 1): Promise<Running> => {
  const port = await freePort();
  return run(
    [process.execPath, here('../../bin/headworks.cjs'), 'serve', '--port', String(port)],
    port,
    {
      HEADWORKS_PROCESSES: String(processes),
      HEADWORKS_ADMIN_TOKEN: token,
      HEADWORKS_LOG_LEVEL: 'warn',
      DATABASE_URL: '',
      REDIS_URL: '',
      BENCH_API_KEY: 'sk-bench',
    },
    folder,
  );
};

const portkeyFile = here('../peers/node_modules/@portkey-ai/gateway/build/start-server.js');

export const portkey = async (): Promise<Running> => {
  const port = await freePort();
  return run([process.execPath, portkeyFile, `--port=${port}`, '--headless'], port, {
    NODE_ENV: 'production',
  });
};
