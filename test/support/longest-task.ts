// Measures how long work blocks the event loop, in CPU time: a busy machine changes nothing.

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
