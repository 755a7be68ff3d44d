// Benchmarks of extraction: used share of a limit, throughput, memory, and cost of a resume.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { systemClock } from '../src/core/index.ts';
import { overstatedLimit, writingAgainstPipeline } from './extraction-pipeline.ts';
import type { SimulatedLooker } from './extraction-runs.ts';
import { inFolder, measureExtract, simulateLooker, unthrottled } from './extraction-runs.ts';
import type { Figure } from './figure.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

export async function extractionFigures(): Promise<readonly Figure[]> {
  await promisify(execFile)(process.execPath, ['scripts/build.ts'], { cwd: root });
  return [
    ...(await throttledFigures()),
    ...(await overstatedLimitFigures()),
    ...(await speedFigures()),
    ...(await workerFigures()),
    ...(await memoryFigures()),
  ];
}

async function withLooker<T>(
  options: readonly string[],
  work: (looker: SimulatedLooker) => Promise<T>,
): Promise<T> {
  const looker = await simulateLooker(...options);
  try {
    return await work(looker);
  } finally {
    await looker.stop();
  }
}

const perSecond = 50;
const windows = 12;

/** The limit per second applies; the server enforces it on arrival. */
function throttledFigures(): Promise<readonly Figure[]> {
  const items = perSecond * windows * 10;
  return withLooker(['--items', `users=${items}`, '--rate-limit', `${perSecond}/s`], async (looker) => {
    const limits = ['--rate-limit-per-minute', '100000', '--rate-limit-per-second', String(perSecond)];
    const flags = ['--types', 'users', '--batch-size', '10', '--workers', '4', ...limits];
    // A cold simulator accepts calls late and unevenly, which would distort the result.
    await inFolder((folder) =>
      measureExtract(looker, folder, ...flags, '--max-calls', String(perSecond * 3)),
    );
    await systemClock.sleep(2_000);
    const run = await inFolder((folder) => measureExtract(looker, folder, ...flags));
    const times = run.respondedAt.toSorted((a, b) => a - b);
    const lastWindowAt = times[perSecond * (windows - 1)] ?? Number.NaN;
    const used = ((windows - 1) * 1000) / (lastWindowAt - (times[0] ?? 0));
    return [
      {
        name: 'of a limit per second used',
        value: used * 100,
        unit: '%',
        goal: 'at least 97 %',
        isMet: used >= 0.97,
      },
      {
        name: '429s that we caused there',
        value: run.rateLimited,
        unit: `of ${run.calls} calls`,
        goal: 'none',
        isMet: run.rateLimited === 0,
      },
    ];
  });
}

async function overstatedLimitFigures(): Promise<readonly Figure[]> {
  const { refusedShare, used } = await overstatedLimit();
  return [
    {
      name: 'configured with twice the limit: calls rejected with 429 after a minute (30 simulated minutes)',
      value: refusedShare * 100,
      unit: '%',
      goal: 'under 2 %',
      isMet: refusedShare < 0.02,
    },
    { name: 'told twice the limit: used of what is allowed', value: used * 100, unit: '%' },
  ];
}

async function speedFigures(): Promise<readonly Figure[]> {
  const { bare, pipeline } = await writingAgainstPipeline(60_000);
  const overHttp = await withLooker(
    ['--items', 'dashboards=10000', '--item-bytes', '10240'],
    async (looker) => {
      const flags = ['--types', 'dashboards', '--workers', '2', ...unthrottled];
      await inFolder((folder) => measureExtract(looker, folder, ...flags));
      const run = await inFolder((folder) => measureExtract(looker, folder, ...flags));
      return run.items / run.seconds;
    },
  );
  return [
    {
      name: 'unthrottled, 10 KB items, 2 workers, pages from memory',
      value: pipeline,
      unit: 'items/s',
      against: { name: 'only writing the rows', value: bare },
      goal: 'at least 0.7 ×',
      isMet: pipeline / bare >= 0.7,
    },
    { name: 'the same over HTTP, from a simulator on the same cores', value: overHttp, unit: 'items/s' },
  ];
}

/** With a latency of 50 ms: the effect of more pages in flight. */
function workerFigures(): Promise<readonly Figure[]> {
  return withLooker(['--items', 'users=15000', '--latency', '50', '--item-bytes', '1024'], async (looker) => {
    const figures: Figure[] = [];
    let sequential = Number.NaN;
    for (const workers of [1, 2, 4, 8, 16]) {
      const flags = ['--types', 'users', '--batch-size', '50', '--workers', String(workers), ...unthrottled];
      const { items, seconds } = await inFolder((folder) => measureExtract(looker, folder, ...flags));
      const value = items / seconds;
      if (workers === 1) sequential = value;
      figures.push({
        name: `50 ms latency, ${workers} ${workers === 1 ? 'worker (sequential)' : 'workers'}`,
        value,
        unit: 'items/s',
        ...(workers === 1 ? {} : { against: { name: 'sequential', value: sequential } }),
        ...(workers === 8 ? { goal: 'at least 6 ×', isMet: value / sequential >= 6 } : {}),
      });
    }
    return figures;
  });
}

const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

const large = 100_000;
/** From here on memory should be flat. */
const settledAt = 10_000;

/** The largest run also counts the calls of a resume of a completed extraction. */
function memoryFigures(): Promise<readonly Figure[]> {
  return withLooker(['--items', `dashboards=${large}`, '--item-bytes', '10240'], (looker) =>
    inFolder(async (folder) => {
      const flags = ['--types', 'dashboards', ...unthrottled];
      const { memory, items, seconds } = await measureExtract(looker, folder, ...flags);
      const between = (from: number, to: number) =>
        memory
          .filter((sample) => sample.items >= from && sample.items <= to)
          .map(({ megabytes }) => megabytes);
      const early = Math.max(...between(0, settledAt));
      const peak = Math.max(...between(0, large));
      const growth = meanOf(between(large * 0.8, large)) / meanOf(between(settledAt, settledAt * 3));
      await looker.reset();
      const again = await measureExtract(looker, folder, ...flags);
      const { calls } = await looker.stats();
      const contentCalls = Object.entries(calls).filter(([name]) => !name.endsWith('/login'));
      return [
        {
          name: `peak memory, ${items} items of 10 KB`,
          value: peak,
          unit: 'MB',
          goal: 'under 400 MB',
          isMet: peak < 400 && items === large,
        },
        {
          name: `of that, reached within the first ${settledAt} items`,
          value: (early / peak) * 100,
          unit: '%',
          goal: 'flat: at least 80 %',
          isMet: early / peak >= 0.8,
        },
        {
          name: `growth: mean of the last fifth against that from ${settledAt} to ${settledAt * 3} items`,
          value: (growth - 1) * 100,
          unit: '%',
        },
        { name: `${items} items of 10 KB`, value: items / seconds, unit: 'items/s' },
        {
          name: 'content calls of a resume when everything is there',
          value: contentCalls.length + again.calls,
          unit: 'calls',
          goal: 'none',
          isMet: again.wasComplete && contentCalls.length + again.calls === 0,
        },
      ];
    }),
  );
}
