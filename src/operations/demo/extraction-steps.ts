// Steps: probe the simulated models, and extract the simulated Looker twice, throttled and with one look that fails.
import type {
  ExtractionRun,
  ExtractionRunStarted,
  ExtractionRuns,
  ExtractionSource,
  VaultItem,
} from '../../api/extraction.ts';
import type { Probes } from '../../api/models.ts';
import { fullName, handover, people } from './acme-company.ts';
import { handoverChange, handoverId } from './acme-looker.ts';
import type { Step, DemoContext } from './step.ts';
import { until } from './step.ts';
import { ensureModels, ensureSource, unreliableModel, lookerSource } from './upstreams.ts';

const hasEnded = ({ state }: ExtractionRun): boolean => state !== 'queued' && state !== 'running';

export const extractionStep: Step = {
  name: 'extraction',
  title: 'Extracting dashboards from a Looker that rate-limits',
  run: async (context) => {
    const source = await ensureSource(context);
    const run = await followRun(context, await runOf(context, source, 1));
    const items = run.types.reduce((sum, { items: count }) => sum + count, 0);
    const missing = run.types.filter(({ status }) => status === 'incomplete').map(({ type }) => type);
    const rest = missing.length === 0 ? 'Complete.' : `Incomplete: ${missing.join(', ')}.`;
    return `${items} items of ${run.types.length} types in ${run.calls} calls, ${run.rate_limited_calls} of them rejected with 429. ${rest}`;
  },
};

/** After the first extraction: the vault keeps the earlier content as a version. */
export const changesStep: Step = {
  name: 'changes',
  title: 'Changing the owner of a dashboard, and extracting Looker again',
  run: async (context) => {
    const { looker } = context.upstreams;
    looker.change(handoverChange);
    const { id } = await followRun(context, await runOf(context, await ensureSource(context), 2));
    // From now on the failing look succeeds: retrying it is one of the things to try.
    looker.configure({ failures: [] });
    const query = { type: handoverChange.type, item: handoverId };
    const path = `/api/v1/extraction/runs/${id}/vault/item`;
    const { versions } = await context.client.call<VaultItem>('GET', path, {
      query,
      signal: context.signal,
    });
    const owner = fullName(people[handover.to]);
    return `${handover.title} now belongs to ${owner}; the vault has ${versions.length} versions of it.`;
  },
};

/** The latest run when there are `count` good ones, else a new run; an interrupted run continues. */
async function runOf(context: DemoContext, source: ExtractionSource, count: number): Promise<string> {
  const { client, signal } = context;
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

async function followRun(context: DemoContext, id: string): Promise<ExtractionRun> {
  const { client, signal } = context;
  const get = () => client.call<ExtractionRun>('GET', `/api/v1/extraction/runs/${id}`, { signal });
  let run = await get();
  await until(context, async () => {
    run = await get();
    const sum = (of: (type: ExtractionRun['types'][number]) => number | null) =>
      run.types.reduce((total, type) => total + (of(type) ?? 0), 0);
    context.show({
      done: sum(({ items }) => items),
      total: sum(({ total }) => total),
      message: `${run.calls} calls, ${run.rate_limited_calls} × 429`,
      run,
    });
    return hasEnded(run);
  });
  if (run.state === 'failed') throw new Error(`The extraction failed: ${run.message ?? 'no cause given'}`);
  return run;
}

export const modelsStep: Step = {
  name: 'models',
  title: 'Probing the AI models',
  run: async (context) => {
    const count = await ensureModels(context);
    const { client, upstreams, signal } = context;
    upstreams.models.script(unreliableModel.model, ['ok']);
    const { probes } = await client.call<Probes>('POST', '/api/v1/models/probe', { body: {}, signal });
    // It is not probed while it is cooling down since an earlier start; from now on it fails.
    upstreams.models.script(unreliableModel.model, []);
    const failed = probes.filter(({ outcome }) => outcome !== 'success');
    const how = failed.map(({ model, outcome }) => `${model} (${outcome})`).join(', ');
    return `${count - failed.length} of ${count} models respond${failed.length === 0 ? '' : `; failed: ${how}`}.`;
  },
};
