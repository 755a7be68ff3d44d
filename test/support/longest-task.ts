// Measures how long work blocks the event loop, in CPU time. A busy machine raises that too, by a factor of up to three.

/** No task of the main thread may take longer (B1). */
export const maxTaskMs = 200;

/** The CPU time of this thread in the longest turn of the event loop while `work` runs, in milliseconds. */
export async function longestTaskMs(work: () => unknown): Promise<number> {
  let longest = 0;
  let before = process.threadCpuUsage();
  const measure = (): void => {
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
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
  return longest;
}

const maxRuns = 5;

/** The same for work without effects, which is repeated while it takes too long: what blocks does so every time. */
export async function repeatedTaskMs(work: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < maxRuns && least >= maxTaskMs; run++)
    least = Math.min(least, await longestTaskMs(work));
  return least;
}
