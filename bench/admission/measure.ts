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

async function oneTurn(
  once: (organization: string) => Promise<void>,
  { callers, turnMs, organizations, isTogether }: Turns,
): Promise<Measured> {
  const times: number[] = [];
  const startedAt = performance.now();
  const call = async (number: number): Promise<void> => {
    const askedAt = performance.now();
    await once(`org_${number % organizations}`);
    times.push(performance.now() - askedAt);
  };
  const isOver = (): boolean => performance.now() - startedAt >= turnMs;
  const numbers = Array.from({ length: callers }, (_, number) => number);
  const endlessly = async (number: number): Promise<void> => {
    while (!isOver()) await call(number);
  };
  if (isTogether) while (!isOver()) await Promise.all(numbers.map(call));
  else await Promise.all(numbers.map(endlessly));
  const elapsedMs = performance.now() - startedAt;
  const middle = times.sort((a, b) => a - b)[Math.floor((times.length - 1) / 2)] ?? Number.NaN;
  return { p50Ms: middle, perSecond: (times.length / elapsedMs) * 1_000 };
}
