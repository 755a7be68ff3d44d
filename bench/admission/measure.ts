// Measures implementations in alternation, so that load of the machine affects all equally.

export interface Measured {
  /** Median of the best turn. */
  readonly p50Ms: number;
  /** Figure of the best turn. */
  readonly perSecond: number;
}

export interface Turns {
  /** Number of concurrent callers; each starts again when it is done, or when all are done. */
  readonly callers: number;
  readonly isTogether?: boolean;
  readonly turns: number;
  readonly turnMs: number;
  /** How many organizations the callers belong to. */
  readonly organizations: number;
}

export async function inTurns<Name extends string>(
  implementations: Readonly<Record<Name, (organization: string) => Promise<void>>>,
  names: readonly Name[],
  turns: Turns,
): Promise<Readonly<Record<Name, Measured>>> {
  const best = new Map<Name, Measured>();
  // The first turn warms up.
  for (let turn = 0; turn <= turns.turns; turn++)
    for (const name of names) {
      const now = await oneTurn(implementations[name], turns);
      const before = best.get(name);
      if (turn > 0)
        best.set(name, {
          p50Ms: Math.min(now.p50Ms, before?.p50Ms ?? Number.POSITIVE_INFINITY),
          perSecond: Math.max(now.perSecond, before?.perSecond ?? 0),
        });
    }
  return Object.fromEntries(best) as Record<Name, Measured>;
}

/** Number of pairs per block: it takes milliseconds, in which the state of the machine hardly changes. */
const blockSize = 20;

/**
 * The median of each with one caller, in short alternating blocks. Whether client and Redis share a core,
 * and how deep cores sleep, changes latency by a factor of three from second to second: longer blocks
 * would measure that.
 */
export async function inBlocks<Name extends string>(
  implementations: Readonly<Record<Name, (organization: string) => Promise<void>>>,
  names: readonly Name[],
  rounds: number,
): Promise<Readonly<Record<Name, number>>> {
  const medians = new Map<Name, number[]>(names.map((name) => [name, []]));
  // The first rounds warm up.
  for (let round = -10; round < rounds; round++)
    for (const name of names) {
      const times: number[] = [];
      for (let pair = 0; pair < blockSize; pair++)
        times.push(await timeOf(() => implementations[name]('org_0')));
      if (round >= 0) medians.get(name)?.push(median(times));
    }
  return Object.fromEntries(Array.from(medians, ([name, all]) => [name, median(all)])) as Record<
    Name,
    number
  >;
}

async function timeOf(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

const median = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor((times.length - 1) / 2)] ?? Number.NaN;

async function oneTurn(
  once: (organization: string) => Promise<void>,
  { callers, turnMs, organizations, isTogether }: Turns,
): Promise<Measured> {
  const times: number[] = [];
  const startedAt = performance.now();
  const call = async (number: number): Promise<void> => {
    times.push(await timeOf(() => once(`org_${number % organizations}`)));
  };
  const isOver = (): boolean => performance.now() - startedAt >= turnMs;
  const numbers = Array.from({ length: callers }, (_, number) => number);
  const endlessly = async (number: number): Promise<void> => {
    while (!isOver()) await call(number);
  };
  if (isTogether) while (!isOver()) await Promise.all(numbers.map(call));
  else await Promise.all(numbers.map(endlessly));
  const elapsedMs = performance.now() - startedAt;
  return { p50Ms: median(times), perSecond: (times.length / elapsedMs) * 1_000 };
}
