// CPU time per request of a server: more reliable than throughput on a shared machine.
import { readFile } from 'node:fs/promises';
import { load } from './load.ts';

export interface Measured {
  readonly pid: number;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Percentile of the windows: those in which other processes used the caches cost more. */
const quietPart = 0.05;

/**
 * Microseconds of each server's main thread per request, under full load, a second each in alternation, so that load of
 * the machine affects all equally. (A fixed number of requests would end in mid-second, and the load generator only at its
 * next one: what a server does in the background then counts as its requests'.) Undefined on systems other than Linux.
 */
export async function cpuPerRequest<Name extends string>(
  servers: Readonly<Record<Name, Measured>>,
  connections: number,
  windows = 40,
): Promise<Readonly<Record<Name, number>> | undefined> {
  const all = Object.entries<Measured>(servers) as [Name, Measured][];
  const taken = new Map<Name, number[]>(all.map(([name]) => [name, []]));
  for (let window = 0; window < windows; window++)
    for (const [name, { pid, url, headers, body }] of all) {
      const before = await mainThreadUs(pid);
      if (before === undefined) return undefined;
      const { requests } = await load(url, { headers, body, connections, seconds: 1 });
      taken.get(name)?.push((((await mainThreadUs(pid)) ?? Number.NaN) - before) / requests);
    }
  return Object.fromEntries([...taken].map(([name, times]) => [name, quiet(times)])) as Record<Name, number>;
}

async function mainThreadUs(pid: number): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : Number(text.split(' ')[0]) / 1_000;
}

function quiet(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(quietPart * times.length)] ?? Number.NaN;
}
