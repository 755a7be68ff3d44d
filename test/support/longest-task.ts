// Measures how long work blocks the event loop: CPU time, as it would be on the machine on which the limit was set. A slow
// or busy machine takes up to three times as long for the same work, so each measurement is divided by what a fixed piece
// of work takes at that moment.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
/** What was allocated before must not be collected while something is measured: tests allocate more than servers. */
const collectGarbage = runInNewContext('gc') as () => void;

/** No task of the main thread may take longer (B1). */
export const maxTaskMs = 200;

/** The CPU time of this thread in the longest turn of the event loop while `work` runs, in milliseconds. */
export async function longestTaskMs(work: () => unknown): Promise<number> {
  collectGarbage();
  const slownessBefore = machineSlowness();
  let longest = 0;
  let before = process.threadCpuUsage();
  const measure = (): void => {
    longest = Math.max(longest, cpuMsSince(before));
    before = process.threadCpuUsage();
  };
  let next = setImmediate(function turn() {
    measure();
    next = setImmediate(turn);
  });
  try {
    await work();
  } finally {
    clearImmediate(next);
    measure();
  }
  return longest / Math.max(slownessBefore, machineSlowness());
}

const maxRuns = 5;

/** The same for work without effects, which is repeated while it takes too long: what blocks does so every time. */
export async function repeatedTaskMs(work: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < maxRuns && least >= maxTaskMs; run++)
    least = Math.min(least, await longestTaskMs(work));
  return least;
}

const referenceText = `{${Array.from({ length: 20_000 }, (_, index) => `"k${index}":1`).join()}}`;
/** What `referenceText` takes on the machine of the limit: 2 idle cores of 2026. */
const referenceMs = 8;

/** How many times longer than that machine this one takes now; at least 1. */
function machineSlowness(): number {
  const before = process.threadCpuUsage();
  JSON.parse(referenceText);
  return Math.max(1, cpuMsSince(before) / referenceMs);
}

function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
