// Handlers of background jobs and the ledger.
import { jobsApi } from '../../api/jobs.ts';
import { ledgerApi } from '../../api/ledger.ts';
import type { JobView } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import { resolveEntry, ledgerRepairJob } from '../../ledger/index.ts';
import type { ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement, pageOf } from '../implement.ts';

export function jobRoutes(server: TypedServer, dependencies: ServerDeps): void {
  const { jobs, ledger } = dependencies;
  const { store } = ledger;
  const existing = async (id: string): Promise<JobView> => {
    const job = await jobs.get(id);
    if (!job) throw new CoreError('NOT_FOUND', `There is no job ${id}.`);
    return job;
  };
  implement(server, jobsApi, {
    list: async ({ query: { state: states, limit, ...filter } }) => {
      if (filter.after !== undefined) await existing(filter.after);
      const { items, next } = await pageOf(limit, (max) => jobs.list({ ...filter, states, limit: max }));
      return { jobs: items.map(complete), next };
    },
    count: async () => ({ counts: await jobs.counts() }),
    get: async ({ params }) => complete(await existing(params.id)),
    retry: async ({ params: { id } }) => {
      if (!(await jobs.retry(id)))
        throw new CoreError(
          'CONFLICT',
          `The job ${id} is ${(await existing(id)).state}; only failed jobs can be retried.`,
        );
      return complete(await existing(id));
    },
    cancel: async ({ params: { id } }) => {
      if (!(await jobs.cancel(id)))
        throw new CoreError(
          'CONFLICT',
          `The job ${id} is ${(await existing(id)).state} already; it can no longer be canceled.`,
        );
      return complete(await existing(id));
    },
  });

  implement(server, ledgerApi, {
    list: async ({ query: { limit, ...filter } }) => {
      const { items, next } = await pageOf(limit, (max) => store.list({ ...filter, limit: max }));
      return { entries: items, next };
    },
    listKinds: async () => {
      const repairs = new Map(ledger.repairs.list().map(({ kind, describe }) => [kind, describe]));
      const counts = new Map((await store.counts()).map((each) => [each.kind, each]));
      const kinds = [...new Set([...repairs.keys(), ...counts.keys()])].sort();
      return {
        kinds: kinds.map((kind) => ({
          kind,
          open: counts.get(kind)?.open ?? 0,
          resolved: counts.get(kind)?.resolved ?? 0,
          repair: repairs.get(kind) ?? null,
        })),
      };
    },
    get: async ({ params: { id } }) => {
      const entry = await store.get(id);
      if (!entry) throw new CoreError('NOT_FOUND', `There is no ledger entry ${id}.`);
      return entry;
    },
    repair: async ({ body }) => {
      const request = body ?? {};
      await ledger.runner.check(request);
      const key = JSON.stringify([request.kind, request.id]);
      return { jobId: await jobs.enqueue(ledgerRepairJob, request, { key }) };
    },
    resolve: async ({ params, body }) => resolveEntry({ ...dependencies, store }, params.id, body.resolution),
  });
}

const complete = ({ payload = null, result = null, progress, ...job }: JobView) => ({
  ...job,
  payload,
  result,
  progress: progress && {
    done: progress.done,
    total: progress.total ?? null,
    message: progress.message ?? null,
  },
});
