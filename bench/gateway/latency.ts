// Latency to a hundredth of a millisecond: the load generator measures whole ones only.
import { Pool } from 'undici';

export interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Measured {
  /** URL of the server. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Measured in alternation, a second each, so that load of the machine affects all equally; the first second is a warm-up. */
export async function latencies<Name extends string>(
  targets: Readonly<Record<Name, Measured>>,
  {
    path,
    connections,
    turns,
  }: { readonly path: string; readonly connections: number; readonly turns: number },
): Promise<Readonly<Record<Name, Latency>>> {
  const names = Object.keys(targets) as Name[];
  const pools = new Map(names.map((name) => [name, new Pool(targets[name].url, { connections })]));
  const taken = new Map<Name, number[]>(names.map((name) => [name, []]));
  try {
    for (let turn = 0; turn <= turns; turn++)
      for (const [name, pool] of pools) {
        const times = await oneSecond(pool, path, targets[name], connections);
        if (turn > 0) taken.get(name)?.push(...times);
      }
  } finally {
    await Promise.all([...pools.values()].map((pool) => pool.destroy()));
  }
  return Object.fromEntries([...taken].map(([name, times]) => [name, percentiles(times)])) as Record<
    Name,
    Latency
  >;
}

async function oneSecond(
  pool: Pool,
  path: string,
  { headers, body }: Measured,
  connections: number,
): Promise<number[]> {
  const times: number[] = [];
  const endsAt = performance.now() + 1_000;
  const caller = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      const sentAt = performance.now();
      const answer = await pool.request({
        method: 'POST',
        path,
        headers: { 'content-type': 'application/json', ...headers },
        body,
      });
      await answer.body.dump();
      if (answer.statusCode !== 200)
        throw new Error(`The response to a request had status ${answer.statusCode}.`);
      times.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: connections }, caller));
  return times;
}

function percentiles(times: readonly number[]): Latency {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number): number => sorted[Math.floor(part * (sorted.length - 1))] ?? Number.NaN;
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}
