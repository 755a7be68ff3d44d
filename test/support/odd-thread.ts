// A thread whose functions return, throw, loop, allocate memory, or exit.
import { serveThread } from '../../src/platform/threads/serve-thread.ts';

let calls = 0;

const functions = {
  echo: (value: unknown) => value,
  count: () => (calls += 1),
  environment: () => Object.keys(process.env).length,
  throwing: (message: string): never => {
    throw new RangeError(message);
  },
  unclonable: () => () => undefined,
  exit: () => process.exit(7),
  spin: () => {
    for (;;);
  },
  backtrack: () => /^(a+)+$/.test(`${'a'.repeat(60)}!`),
  objects: () => {
    const kept: object[] = [];
    for (;;) kept.push({ one: [1, 2, 3] });
  },
  buffers: () => {
    const kept: Uint8Array[] = [];
    for (;;) kept.push(new Uint8Array(10_000_000).fill(1));
  },
  /** Single allocations of 80 MB: V8's own limit ends the process then. */
  arrays: () => {
    const kept: unknown[][] = [];
    for (;;) kept.push(Array.from({ length: 10_000_000 }, () => 1.5));
  },
} as const;
export type OddFunctions = typeof functions;

serveThread(functions);
