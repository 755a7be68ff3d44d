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

export interface Turns {
  readonly path: string;
  readonly connections: number;
  readonly turns: number;
  /** Requests per second, whether or not the earlier ones have ended. Default: each connection its next one at once. */
  readonly perSecond?: number;
}

/** Measured in alternation, a second each, so that load of the machine affects all equally; the first second is a warm-up. */
export async function latencies<Name extends string>(
  targets: Readonly<Record<Name, Measured>>,
  { path, connections, turns, perSecond }: Turns,
): Promise<Readonly<Record<Name, Latency>>> {
  const names = Object.keys(targets) as Name[];
  const pools = new Map(names.map((name) => [name, new Pool(targets[name].url, { connections })]));
  const taken = new Map<Name, number[]>(names.map((name) => [name, []]));
  try {
    for (let turn = 0; turn <= turns; turn++)
      for (const [name, pool] of pools) {
        const times =
          perSecond === undefined
            ? await oneSecond(pool, path, targets[name], connections)
            : await pacedSecond(pool, path, targets[name], perSecond);
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
  target: Measured,
  connections: number,
): Promise<readonly number[]> {
  const times: number[] = [];
  const endsAt = performance.now() + 1_000;
  const caller = async (): Promise<void> => {
    while (performance.now() < endsAt) times.push(await oneRequest(pool, path, target));
  };
  await Promise.all(Array.from({ length: connections }, caller));
  return times;
}

/** Every millisecond as many as are due by then: a late timer is made up for. */
async function pacedSecond(
  pool: Pool,
  path: string,
  target: Measured,
  perSecond: number,
): Promise<readonly number[]> {
  const running: Promise<number>[] = [];
  const startedAt = performance.now();
  while (running.length < perSecond) {
    const due = Math.min(perSecond, ((performance.now() - startedAt) * perSecond) / 1_000);
    while (running.length < due) running.push(oneRequest(pool, path, target));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return Promise.all(running);
}

/** Milliseconds. */
async function oneRequest(pool: Pool, path: string, { headers, body }: Measured): Promise<number> {
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
  return performance.now() - sentAt;
}

function percentiles(times: readonly number[]): Latency {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number): number => sorted[Math.floor(part * (sorted.length - 1))] ?? Number.NaN;
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}
