// The process metrics that alerts read, with the names and meaning of prom-client, which takes 20 MB and is loaded only
// when Prometheus scrapes this process; and a monitor that reports a task of the event loop that took too much CPU time.
import { readdir, readFile } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Clock } from '../../core/index.ts';
import { every } from '../../core/index.ts';

interface GaugeSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

type ReadGauge = () => readonly GaugeSample[] | Promise<readonly GaugeSample[]>;

const single = (value: number): readonly GaugeSample[] => [{ labels: {}, value }];

/** Where a value does not exist, as outside of Linux, there are no samples. */
export function processGauges(): Readonly<Record<string, ReadGauge>> {
  let delays: ReturnType<typeof monitorEventLoopDelay> | undefined;
  return {
    // Since the last reading; the first one starts the measurement.
    nodejs_eventloop_lag_p99_seconds: () => {
      const seconds = (delays?.percentile(99) ?? 0) / 1e9;
      if (delays) delays.reset();
      else (delays = monitorEventLoopDelay({ resolution: 20 })).enable();
      return single(seconds);
    },
    process_open_fds: () =>
      readdir('/proc/self/fd').then(
        (open) => single(open.length - 1),
        // Without a free descriptor the folder cannot be read: all are in use.
        (error: NodeJS.ErrnoException) => (error.code === 'EMFILE' ? maxOpenFiles() : []),
      ),
    process_max_fds: maxOpenFiles,
  };
}

let maxFiles: number | undefined;

async function maxOpenFiles(): Promise<readonly GaugeSample[]> {
  if (maxFiles === undefined) {
    const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
    maxFiles = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.NaN);
  }
  return Number.isNaN(maxFiles) ? [] : single(maxFiles);
}

export interface EventLoopMonitorDeps {
  readonly clock: Clock;
  /** Called with the CPU time of the turn. */
  readonly onBlocked: (cpuMs: number) => void;
  /** CPU time of this thread so far. Default: measured. */
  readonly cpuMs?: () => number;
}

/** No task may take longer: see B1 in docs/reference/guarantees.md. */
const maxTaskMs = 200;
/** A tick that is late by the length of a task has its CPU time. */
const intervalMs = 50;

/**
 * CPU time, not lag: on a machine with too little CPU every process is late, which `nodejs_eventloop_lag_…` shows. The
 * returned function stops it.
 */
export function monitorEventLoop({
  clock,
  onBlocked,
  cpuMs = threadCpuMs,
}: EventLoopMonitorDeps): () => void {
  let before = cpuMs();
  return every(clock, intervalMs, async () => {
    const now = cpuMs();
    const used = now - before;
    before = now;
    // Small tasks may have filled the time until this tick was due.
    if (used > maxTaskMs + intervalMs) onBlocked(Math.round(used));
  });
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
