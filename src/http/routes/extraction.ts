// Extraction: registered sources, and runs that are started, watched and stopped.
import { z } from 'zod';
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import {
  extractionRun,
  extractionRuns,
  extractionRunsQuery,
  extractionSource,
  extractionSources,
  runReport,
  runStart,
  runStarted,
  viewOfRun,
  viewOfSource,
} from '../schemas/extraction.ts';
import { idParams } from '../schemas/fields.ts';
import { sourceChange, sourceInput, type ExtractionSource } from '../../extraction/index.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['extraction'];
const config = { access: 'admin' } as const;

export function extractionRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  sourceRoutes(server, dependencies);
  runRoutes(server, dependencies);
}

function sourceRoutes(server: TypedServer, { extraction }: HttpDependencies): void {
  const { sources, runs } = extraction;
  const view = (source: ExtractionSource) => viewOfSource(source, runs.nextRunAt(source));

  server.get(
    '/api/v1/extraction/sources',
    {
      config,
      schema: {
        operationId: 'extraction.sources.list',
        tags,
        summary: 'Registered sources',
        response: { 200: extractionSources, ...errorAnswers },
      },
    },
    async () => ({ sources: (await sources.list()).map(view) }),
  );

  server.post(
    '/api/v1/extraction/sources',
    {
      config,
      schema: {
        operationId: 'extraction.sources.add',
        tags,
        summary: 'Registers a source',
        description:
          'Secrets are refused: name the environment variables of the server that hold them. The source is not asked.',
        body: sourceInput,
        response: { 201: extractionSource, ...errorAnswers },
      },
    },
    async (request, reply) => reply.code(201).send(view(await sources.add(request.body))),
  );

  server.get(
    '/api/v1/extraction/sources/:id',
    {
      config,
      schema: {
        operationId: 'extraction.sources.get',
        tags,
        summary: 'One source',
        params: idParams,
        response: { 200: extractionSource, ...errorAnswers },
      },
    },
    async (request) => view(await sources.get(request.params.id)),
  );

  server.patch(
    '/api/v1/extraction/sources/:id',
    {
      config,
      schema: {
        operationId: 'extraction.sources.change',
        tags,
        summary: 'Changes a source',
        description: 'Settings and options are replaced as a whole. A run that goes on is not touched.',
        params: idParams,
        body: sourceChange,
        response: { 200: extractionSource, ...errorAnswers },
      },
    },
    async (request) => view(await sources.change(request.params.id, request.body)),
  );

  server.delete(
    '/api/v1/extraction/sources/:id',
    {
      config,
      schema: {
        operationId: 'extraction.sources.remove',
        tags,
        summary: 'Removes a source',
        description: 'Its runs stay listed, and its vault stays where it is.',
        params: idParams,
        response: { 204: z.null().describe('It is gone.'), ...errorAnswers },
      },
    },
    async (request, reply) => {
      await sources.remove(request.params.id);
      return reply.code(204).send(null);
    },
  );

  server.post(
    '/api/v1/extraction/sources/:id/runs',
    {
      config,
      schema: {
        operationId: 'extraction.runs.start',
        tags,
        summary: 'Starts a run of a source',
        params: idParams,
        body: runStart,
        response: { 202: runStarted, ...errorAnswers },
      },
    },
    async (request, reply) => {
      const { fresh = false, retry_failed: retryFailed = false } = request.body ?? {};
      const { id, jobId } = await runs.start(request.params.id, { fresh, retryFailed });
      return reply.code(202).send({ run_id: id, job_id: jobId });
    },
  );
}

function runRoutes(server: TypedServer, { extraction: { runs } }: HttpDependencies): void {
  server.get(
    '/api/v1/extraction/runs',
    {
      config,
      schema: {
        operationId: 'extraction.runs.list',
        tags,
        summary: 'Runs, newest first, those of commands included',
        querystring: extractionRunsQuery,
        response: { 200: extractionRuns, ...errorAnswers },
      },
    },
    async (request) => {
      const { source, state, limit, before } = request.query;
      // One more than asked for tells whether there is a next page.
      const found = await runs.list({
        limit: limit + 1,
        ...(source === undefined ? {} : { source }),
        ...(state === undefined ? {} : { states: state }),
        ...(before === undefined ? {} : { before }),
      });
      const page = found.slice(0, limit).map(viewOfRun);
      return { runs: page, next: found.length > limit ? (page.at(-1)?.id ?? null) : null };
    },
  );

  server.get(
    '/api/v1/extraction/runs/:id',
    {
      config,
      schema: {
        operationId: 'extraction.runs.get',
        tags,
        summary: 'One run, as it is now',
        params: idParams,
        response: { 200: extractionRun, ...errorAnswers },
      },
    },
    async (request) => viewOfRun(await runs.get(request.params.id)),
  );

  server.post(
    '/api/v1/extraction/runs/:id/stop',
    {
      config,
      schema: {
        operationId: 'extraction.runs.stop',
        tags,
        summary: 'Stops a run',
        description: 'It ends as interrupted within a few seconds; the vault keeps what came until then.',
        params: idParams,
        response: { 202: extractionRun, ...errorAnswers },
      },
    },
    async (request, reply) => reply.code(202).send(viewOfRun(await runs.stop(request.params.id))),
  );

  server.post(
    '/api/v1/extraction/runs/report',
    {
      // Once a second for every command that extracts: rows of the audit log would be nothing else.
      config: { ...config, audit: false },
      schema: {
        operationId: 'extraction.runs.report',
        tags,
        summary: 'Tells of a run that a command does itself',
        description:
          'Told at its start, about once a second, and at its end; silent for a minute, it is interrupted.',
        body: runReport,
        response: { 200: extractionRun, ...errorAnswers },
      },
    },
    async (request) => {
      const { items_per_second: itemsPerSecond, refusals: rateLimitedCalls, ...report } = request.body;
      return viewOfRun(await runs.report({ ...report, itemsPerSecond, rateLimitedCalls }));
    },
  );
}
