// Benchmarks of admission: a decision and its release compared with empty scripts, the founding document's algorithm and another library; bursts.
import { randomBytes } from 'node:crypto';
import { burstFigure } from './admission/bursts.ts';
import type { Implementation, Contenders } from './admission/contenders.ts';
import { openContenders } from './admission/contenders.ts';
import { requestFigure, requestFigureName } from './admission/tenant-request.ts';
import type { Measured } from './admission/measure.ts';
import { inBlocks, inTurns } from './admission/measure.ts';
import type { Figure } from './figure.ts';
import { installPeers } from './peers.ts';

export interface AdmissionBench {
  readonly redisUrl: string;
  /** Fewer rounds: a quick check, not a measurement. */
  readonly isQuick: boolean;
}

export async function admissionFigures({ redisUrl, isQuick }: AdmissionBench): Promise<readonly Figure[]> {
  await installPeers();
  const pace = isQuick ? { turns: 2, turnMs: 300 } : { turns: 5, turnMs: 1_000 };
  const prefix = (): string => `bench:${randomBytes(4).toString('hex')}:`;
  const implementations = await openContenders(redisUrl, prefix());
  try {
    return [
      ...(await latency(implementations, pace)),
      ...(await throughput(implementations, pace, { callers: 64, least: 0.55 })),
      ...(await throughput(implementations, pace, { callers: 200, least: 0.5 })),
      await burstFigure(redisUrl, prefix(), isQuick ? 10 : 100),
      await requestFigure({ redisUrl, ...pace }).catch(notMeasured),
    ];
  } finally {
    await implementations.close();
  }
}

/** The other figures are printed even if the server cannot be started. */
function notMeasured(error: unknown): Figure {
  console.error('The request could not be measured:', error);
  const name = `${requestFigureName}: not measured`;
  return { name, value: Number.NaN, unit: 'ms', goal: 'under 1 ms', isMet: false };
}

interface Pace {
  readonly turns: number;
  readonly turnMs: number;
}

async function latency({ pairs }: Contenders, pace: Pace): Promise<readonly Figure[]> {
  const names: readonly Implementation[] = ['ours', 'bare', 'least', 'founding'];
  const one = await inBlocks(pairs, names, pace.turns * 100);
  const many = { ...pace, callers: 200, isTogether: true };
  const concurrent = await inTurns(pairs, ['ours', 'foundingConcurrent'], { ...many, organizations: 1 });
  const spread = await inTurns(pairs, ['ours', 'foundingConcurrent'], { ...many, organizations: 200 });
  const pair = { name: 'decision and release, one caller, p50', value: one.ours, unit: 'ms' };
  return [
    {
      ...pair,
      against: { name: 'two bare EVALSHA', value: one.bare },
      goal: 'at most 1.25',
      isMet: one.ours / one.bare <= 1.25,
    },
    { ...pair, against: { name: 'two without keys, each sent at once', value: one.least } },
    faster('one caller', one.founding, one.ours, 3),
    faster(
      '200 callers at once, one organization',
      concurrent.foundingConcurrent.p50Ms,
      concurrent.ours.p50Ms,
      10,
    ),
    faster('200 callers at once, 200 organizations', spread.foundingConcurrent.p50Ms, spread.ours.p50Ms),
  ];
}

function faster(name: string, foundingMs: number, oursMs: number, least?: number): Figure {
  return {
    name: `the document's algorithm, ${name}, p50`,
    value: foundingMs,
    unit: 'ms',
    against: { name: 'ours', value: oursMs },
    ...(least === undefined ? {} : { goal: `at least ${least}`, isMet: foundingMs / oursMs >= least }),
  };
}

async function throughput(
  { pairs }: Contenders,
  pace: Pace,
  { callers, least }: { readonly callers: number; readonly least: number },
): Promise<readonly Figure[]> {
  const turns = { ...pace, callers, organizations: 1 };
  const { ours, bare, peer } = await inTurns(pairs, ['ours', 'bare', 'peer'], turns);
  const against = (name: string, other: Measured, part: number): Figure => ({
    name: `decisions and releases, ${callers} callers`,
    value: ours.perSecond,
    unit: '/s',
    against: { name, value: other.perSecond },
    goal: `at least ${part}`,
    isMet: ours.perSecond / other.perSecond >= part,
  });
  return [
    against('pairs of bare pipelined EVALSHA', bare, least),
    against('redis-semaphore 5.8, which has one layer', peer, 0.8),
  ];
}
