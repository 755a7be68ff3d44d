// Prism as a validating proxy: downloaded into the cache on first use, not a dependency of the package.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { lastLines, runCommand } from './services/run-command.ts';
import { cacheFolder } from './services/server-tree.ts';

const version = '5.16.0';
const startMs = 120_000;

export interface PrismProxy {
  readonly url: string;
  stop(): Promise<void>;
}

/** Proxies calls to `upstream`; violations of the OpenAPI document are in the response header `sl-violations`. */
export async function startPrism(document: string, upstream: string): Promise<PrismProxy> {
  const program = await installPrism();
  const port = await freePort();
  const args = ['proxy', document, upstream, '--host', '127.0.0.1', '--port', String(port)];
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const { promise: listening, resolve } = Promise.withResolvers<boolean>();
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-10_000);
      if (output.includes('Prism is listening')) resolve(true);
    });
  child.once('exit', () => resolve(false));
  const timer = setTimeout(() => resolve(false), startMs);
  const isUp = await listening;
  clearTimeout(timer);
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  if (isUp) return { url: `http://127.0.0.1:${port}`, stop };
  await stop();
  throw new Error(`Prism did not start: ${lastLines(output, 5)}`);
}

/** Moved into place when complete: an interrupted download stays in another folder. */
async function installPrism(): Promise<string> {
  const folder = join(await cacheFolder(), `prism-${version}`);
  const program = join(folder, 'node_modules/@stoplight/prism-cli/dist/index.js');
  if (existsSync(program)) return program;
  const scratch = `${folder}.${process.pid}`;
  await mkdir(scratch, { recursive: true });
  try {
    const options = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', scratch];
    await runCommand('npm', ['install', ...options, `@stoplight/prism-cli@${version}`], { cwd: scratch });
    await rm(folder, { recursive: true, force: true });
    await rename(scratch, folder);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  return program;
}

/** Prism has no option for a random port. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
