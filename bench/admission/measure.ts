// Contenders in turns, so that a busy moment of the machine hits all alike.

export interface Measured {
  /** Of the best turn. */
  readonly p50Ms: number;
  /** Of the best turn. */
  readonly perSecond: number;
}

export interface Turns {
  /** So many at once, each beginning again when it is done, or when all are done. */
  readonly callers: number;
  readonly isTogether?: boolean;
  readonly turns: number;
  readonly turnMs: number;
  /** How many organizations the callers belong to. */
  readonly organizations: number;
}

export async function inTurns<Name extends string>(
  contenders: Readonly<Record<Name, (organization: string) => Promise<void>>>,
  names: readonly Name[],
  turns: Turns,
): Promise<Readonly<Record<Name, Measured>>> {
  const best = new Map<Name, Measured>();
  // The first turn warms up.
  for (let turn = 0; turn <= turns.turns; turn++)
    for (const name of names) {
      const now = await oneTurn(contenders[name], turns);
      const before = best.get(name);
      if (turn > 0)
        best.set(name, {
          p50Ms: Math.min(now.p50Ms, before?.p50Ms ?? Number.POSITIVE_INFINITY),
          perSecond: Math.max(now.perSecond, before?.perSecond ?? 0),
        });
    }
  return Object.fromEntries(best) as Record<Name, Measured>;
}

/** So many pairs of each before the next one's turn: milliseconds, in which the machine stays as it is. */
const blockSize = 20;

/**
 * The median of each, of one caller, in blocks that follow each other closely. Whether client and Redis share a core,
 * and how deep cores sleep, changes every answer by a factor of three, and from second to second: turns of a second
 * measure that. In neighboring blocks it is the same for all.
 */
export async function inBlocks<Name extends string>(
  contenders: Readonly<Record<Name, (organization: string) => Promise<void>>>,
  names: readonly Name[],
  rounds: number,
): Promise<Readonly<Record<Name, number>>> {
  const medians = new Map<Name, number[]>(names.map((name) => [name, []]));
  // The first rounds warm up.
  for (let round = -10; round < rounds; round++)
    for (const name of names) {
      const times: number[] = [];
      for (let pair = 0; pair < blockSize; pair++) times.push(await timeOf(() => contenders[name]('org_0')));
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
