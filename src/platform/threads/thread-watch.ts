// Looks at a thread while it works: how much memory it has, how much it has computed.
import type { Worker } from 'node:worker_threads';
import type { Clock } from '../../core/index.ts';

export interface WatchLimits {
  /** Heap and buffers together. */
  readonly memoryMb: number;
  /** Time of the processor, not of the clock: a busy machine makes nobody slower by that measure. */
  readonly cpuMs: number;
}

const everyMs = 50;
const bytesPerMb = 1_048_576;

/**
 * Calls `onExceeded` once when the thread has more than it may; the returned function ends the watch. The thread is
 * looked at between two steps of its code, however busy it is.
 *
 * V8's own limit of memory does not do: it knows nothing of buffers, and one large allocation beyond it ends the whole
 * process ("FATAL ERROR: Reached heap limit"), not the thread. So that limit is set far above, and this one is looked at.
 */
export function watchThread(
  worker: Worker,
  limits: WatchLimits,
  clock: Clock,
  onExceeded: (what: 'time' | 'memory') => void,
): () => void {
  let isOver = false;
  let cancel: () => void = () => undefined;
  let cpuBefore: number | undefined;
  const look = async () => {
    try {
      const [memory, cpu] = await Promise.all([worker.getHeapStatistics(), cpuMsOf(worker, clock)]);
      if (isOver) return;
      cpuBefore ??= cpu;
      if (memory.used_heap_size + memory.external_memory > limits.memoryMb * bytesPerMb)
        return onExceeded('memory');
      if (cpu - cpuBefore > limits.cpuMs) return onExceeded('time');
    } catch {
      return; // the thread is gone; its end is noticed elsewhere
    }
    cancel = clock.after(everyMs, () => void look());
  };
  void look();
  return () => {
    isOver = true;
    cancel();
  };
}

async function cpuMsOf(worker: Worker, clock: Clock): Promise<number> {
  // Node has it since 24.6; before, the clock must do.
  if (typeof (worker as Partial<Worker>).cpuUsage !== 'function') return clock.monotonic();
  const { user, system } = await worker.cpuUsage();
  return (user + system) / 1_000;
}
