// Background work: what there is, what became of it, once more, stop.
import type { JobView } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import { idParams } from '../schemas/fields.ts';
import { jobAnswer, jobCountsAnswer, jobsAnswer, jobsQuery, viewOfJob } from '../schemas/jobs.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['jobs'];
const config = { access: 'admin' } as const;

export function jobRoutes(server: TypedServer, { jobs }: HttpDependencies): void {
  const existing = async (id: string): Promise<JobView> => {
    const job = await jobs.get(id);
    if (!job) throw new CoreError('NOT_FOUND', `There is no job ${id}.`);
    return job;
  };

  server.get(
    '/api/v1/jobs',
    {
      config,
      schema: {
        operationId: 'jobs.list',
        tags,
        summary: 'Jobs, newest first',
        querystring: jobsQuery,
        response: { 200: jobsAnswer, ...errorAnswers },
      },
    },
    async (request) => {
      const { name, state, limit } = request.query;
      const found = await jobs.list({
        limit,
        ...(name === undefined ? {} : { name }),
        ...(state === undefined ? {} : { states: state }),
      });
      return { jobs: found.map(viewOfJob) };
    },
  );

  server.get(
    '/api/v1/jobs/counts',
    {
      config,
      schema: {
        operationId: 'jobs.counts',
        tags,
        summary: 'How many jobs are in which state',
        response: { 200: jobCountsAnswer, ...errorAnswers },
      },
    },
    async () => ({ counts: [...(await jobs.counts())] }),
  );

  server.get(
    '/api/v1/jobs/:id',
    {
      config,
      schema: {
        operationId: 'jobs.get',
        tags,
        summary: 'One job',
        params: idParams,
        response: { 200: jobAnswer, ...errorAnswers },
      },
    },
    async (request) => viewOfJob(await existing(request.params.id)),
  );

  server.post(
    '/api/v1/jobs/:id/retry',
    {
      config,
      schema: {
        operationId: 'jobs.retry',
        tags,
        summary: 'Runs a failed job again',
        params: idParams,
        response: { 202: jobAnswer, ...errorAnswers },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      if (!(await jobs.retry(id))) {
        const { state } = await existing(id);
        throw new CoreError('CONFLICT', `The job ${id} is ${state}; only failed jobs can be retried.`);
      }
      return reply.code(202).send(viewOfJob(await existing(id)));
    },
  );

  server.post(
    '/api/v1/jobs/:id/cancel',
    {
      config,
      schema: {
        operationId: 'jobs.cancel',
        tags,
        summary: 'Cancel a queued or running job',
        description:
          'It ends as canceled; the signal of a running job is aborted, and it may take a moment to stop.',
        params: idParams,
        response: { 202: jobAnswer, ...errorAnswers },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      if (!(await jobs.cancel(id))) {
        const { state } = await existing(id);
        throw new CoreError(
          'CONFLICT',
          `The job ${id} is ${state} already; it cannot be cancelled any more.`,
        );
      }
      return reply.code(202).send(viewOfJob(await existing(id)));
    },
  );
}
