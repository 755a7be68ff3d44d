// Runs the built command against a simulated Looker in separate processes, for the benchmarks of extraction.
import { spawn } from 'node:child_process';
import { readFile, rm, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { LookerSimulatorStats } from '../src/simulators/looker/types.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const command = join(root, 'bin/headworks.cjs');
const plainEnvironment = { PATH: process.env['PATH'], HOME: process.env['HOME'] };

export interface SimulatedLooker {
  readonly environment: Readonly<Record<string, string>>;
  stats(): Promise<LookerSimulatorStats>;
  reset(): Promise<void>;
  stop(): Promise<void>;
}

/** Options as on the command line. */
export async function simulateLooker(...options: readonly string[]): Promise<SimulatedLooker> {
  const child = spawn(
    process.execPath,
    [command, 'simulate', 'looker', '--port', '0', '--json', ...options],
    {
      env: plainEnvironment,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const first = await lines.next();
  const ready = JSON.parse(String(first.value)) as { url: string; client_id: string; client_secret: string };
  return {
    environment: {
      LOOKER_BASE_URL: ready.url,
      LOOKER_CLIENT_ID: ready.client_id,
      LOOKER_CLIENT_SECRET: ready.client_secret,
    },
    stats: async () => (await (await fetch(`${ready.url}/__stats`)).json()) as LookerSimulatorStats,
    reset: async () => void (await fetch(`${ready.url}/__reset`, { method: 'POST' })),
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

export interface MeasuredRun {
  readonly calls: number;
  readonly items: number;
  readonly seconds: number;
  readonly wasComplete: boolean;
  /** When each response arrived, in milliseconds. */
  readonly respondedAt: readonly number[];
  readonly rateLimited: number;
  /** Resident megabytes, with the items that were in the vault at that moment. */
  readonly memory: readonly { readonly items: number; readonly megabytes: number }[];
}

interface Line {
  readonly event: string;
  readonly at?: string;
  readonly types?: readonly { readonly items: number }[];
  readonly calls?: number;
  readonly was_complete?: boolean;
  readonly metrics?: { readonly total: number; readonly duration: number };
  readonly rate_limiter?: { readonly total_429_count: number };
}

/** One `headworks extract looker` into a vault in `folder`. */
export async function measureExtract(
  looker: SimulatedLooker,
  folder: string,
  ...options: readonly string[]
): Promise<MeasuredRun> {
  const args = [command, 'extract', 'looker', '--json', '--vault', join(folder, 'bench.vault'), ...options];
  const env = { ...plainEnvironment, ...looker.environment };
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const respondedAt: number[] = [];
  const memory: { items: number; megabytes: number }[] = [];
  let result: Line | undefined;
  for await (const text of createInterface({ input: child.stdout })) {
    const line = JSON.parse(text) as Line;
    if (line.event === 'extraction:call') respondedAt.push(Date.parse(line.at ?? ''));
    if (line.event === 'extraction:result') result = line;
    if (line.event !== 'extraction:progress') continue;
    const items = (line.types ?? []).reduce((sum, type) => sum + type.items, 0);
    memory.push({ items, megabytes: await residentMegabytes(child.pid ?? 0) });
  }
  if (!result?.metrics) throw new Error(`headworks ${args.slice(1).join(' ')} told no result.`);
  return {
    calls: result.calls ?? 0,
    items: result.metrics.total,
    seconds: result.metrics.duration,
    wasComplete: result.was_complete ?? false,
    respondedAt,
    rateLimited: result.rate_limiter?.total_429_count ?? 0,
    memory,
  };
}

async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-bench-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export const unthrottled = ['--rate-limit-per-minute', '1000000', '--rate-limit-per-second', '100000'];
