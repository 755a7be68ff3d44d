// Handlers of background jobs.
import { jobsApi } from '../../api/jobs.ts';
import type { JobView } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type { ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement } from '../implement.ts';

export function jobRoutes(server: TypedServer, { jobs }: ServerDeps): void {
  const existing = async (id: string): Promise<JobView> => {
    const job = await jobs.get(id);
    if (!job) throw new CoreError('NOT_FOUND', `There is no job ${id}.`);
    return job;
  };
  implement(server, jobsApi, {
    list: async ({ query: { state: states, ...filter } }) => ({
      jobs: (await jobs.list({ ...filter, states })).map(complete),
    }),
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
