// Watches the main thread: reports a turn of the event loop that took too much CPU time, during which nothing else ran.
import type { Clock } from '../../core/index.ts';
import { every } from '../../core/index.ts';

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
