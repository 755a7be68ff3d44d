// The BI estate comes out of the simulated Looker, twice: throttled, and with one look that does not come.
import type {
  ExtractionRun,
  ExtractionRunStarted,
  ExtractionRuns,
  ExtractionSource,
  VaultItem,
} from '../../api/extraction.ts';
import { handoverChange, handoverId } from './acme-estate.ts';
import { fullName, people } from './acme-people.ts';
import { handover } from './acme-reports.ts';
import type { Chapter, Stage } from './chapter.ts';
import { until } from './chapter.ts';
import { lookerSource } from './demo-world.ts';
import { ensureSource } from './ensure-upstreams.ts';

const hasEnded = ({ state }: ExtractionRun): boolean => state !== 'queued' && state !== 'running';

export const extractionChapter: Chapter = {
  name: 'extraction',
  title: 'Extracting the BI estate from a Looker that throttles',
  run: async (stage) => {
    const source = await ensureSource(stage);
    const run = await followed(stage, await runOf(stage, source, 1));
    const items = run.types.reduce((sum, { items: count }) => sum + count, 0);
    const missing = run.types.filter(({ status }) => status === 'incomplete').map(({ type }) => type);
    const rest = missing.length === 0 ? 'Everything came.' : `Not everything came of ${missing.join(', ')}.`;
    return `${items} items of ${run.types.length} types in ${run.calls} calls, ${run.rate_limited_calls} of them refused with 429. ${rest}`;
  },
};

/** Not before the first extraction has ended: what was there before is kept as a version of its own. */
export const changesChapter: Chapter = {
  name: 'changes',
  title: 'A dashboard changes hands, and Looker is extracted again',
  run: async (stage) => {
    const { looker } = stage.world;
    looker.change(handoverChange);
    const { id } = await followed(stage, await runOf(stage, await ensureSource(stage), 2));
    // From now on Looker would hand out what it failed to: asking again is one of the things to try.
    looker.configure({ failures: [] });
    const query = { type: handoverChange.type, item: handoverId };
    const path = `/api/v1/extraction/runs/${id}/vault/item`;
    const { versions } = await stage.client.call<VaultItem>('GET', path, {
      query,
      signal: stage.signal,
    });
    const owner = fullName(people[handover.to]);
    return `${handover.title} belongs to ${owner} now; the vault keeps ${versions.length} versions of it.`;
  },
};

/** The one that goes on already, or a new one, until there are so many; what was interrupted goes on where it was. */
async function runOf(stage: Stage, source: ExtractionSource, count: number): Promise<string> {
  const { client, signal } = stage;
  const query = { source: lookerSource('').name, limit: 100 };
  const { runs } = await client.call<ExtractionRuns>('GET', '/api/v1/extraction/runs', {
    query,
    signal,
  });
  const good = runs.filter(
    (run) => run.state === 'completed' || run.state === 'incomplete' || !hasEnded(run),
  );
  const [last] = good;
  if (last && good.length >= count) return last.id;
  const path = `/api/v1/extraction/sources/${source.id}/runs`;
  return (await client.call<ExtractionRunStarted>('POST', path, { body: {}, signal })).run_id;
}

async function followed(stage: Stage, id: string): Promise<ExtractionRun> {
  const { client, signal } = stage;
  const look = () => client.call<ExtractionRun>('GET', `/api/v1/extraction/runs/${id}`, { signal });
  let run = await look();
  await until(stage, async () => {
    run = await look();
    const sum = (of: (type: ExtractionRun['types'][number]) => number | null) =>
      run.types.reduce((total, type) => total + (of(type) ?? 0), 0);
    stage.show({
      done: sum(({ items }) => items),
      total: sum(({ total }) => total),
      message: `${run.calls} calls, ${run.rate_limited_calls} × 429`,
      run,
    });
    return hasEnded(run);
  });
  if (run.state === 'failed')
    throw new Error(`The extraction failed: ${run.message ?? 'no reason was given'}`);
  return run;
}
