// The ledger: what fell back, why, and how it gets repaired.
import { CoreError } from '../../core/index.ts';
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import { idParams } from '../schemas/fields.ts';
import {
  ledgerEntry,
  ledgerKinds,
  ledgerPage,
  ledgerQuery,
  repairAnswer,
  repairBody,
  resolveBody,
  viewOfEntry,
} from '../schemas/ledger.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['ledger'];
const config = { access: 'admin' } as const;

export function ledgerRoutes(server: TypedServer, { ledger }: HttpDependencies): void {
  server.get(
    '/api/v1/ledger',
    {
      config,
      schema: {
        operationId: 'ledger.list',
        tags,
        summary: 'What is open, or was repaired',
        querystring: ledgerQuery,
        response: { 200: ledgerPage, ...errorAnswers },
      },
    },
    async (request) => {
      const { state, kind, subject, limit, after } = request.query;
      // One more than asked for tells whether there is a next page.
      const found = await ledger.list({
        state,
        limit: limit + 1,
        ...(kind === undefined ? {} : { kind }),
        ...(subject === undefined ? {} : { subject }),
        ...(after === undefined ? {} : { after }),
      });
      const entries = found.slice(0, limit).map(viewOfEntry);
      return { entries, next: found.length > limit ? (entries.at(-1)?.id ?? null) : null };
    },
  );

  server.get(
    '/api/v1/ledger/kinds',
    {
      config,
      schema: {
        operationId: 'ledger.kinds',
        tags,
        summary: 'Kinds of rows, with counts and repairs',
        response: { 200: ledgerKinds, ...errorAnswers },
      },
    },
    async () => {
      const repairs = new Map(ledger.repairs().map(({ kind, describe }) => [kind, describe]));
      const counts = new Map((await ledger.counts()).map((count) => [count.kind, count]));
      const kinds = [...new Set([...repairs.keys(), ...counts.keys()])].sort();
      return {
        kinds: kinds.map((kind) => ({
          kind,
          open: counts.get(kind)?.open ?? 0,
          repaired: counts.get(kind)?.repaired ?? 0,
          repair: repairs.get(kind) ?? null,
        })),
      };
    },
  );

  server.get(
    '/api/v1/ledger/:id',
    {
      config,
      schema: {
        operationId: 'ledger.get',
        tags,
        summary: 'One row',
        params: idParams,
        response: { 200: ledgerEntry, ...errorAnswers },
      },
    },
    async (request) => {
      const entry = await ledger.get(request.params.id);
      if (!entry) throw new CoreError('NOT_FOUND', `There is no ledger row ${request.params.id}.`);
      return viewOfEntry(entry);
    },
  );

  server.post(
    '/api/v1/ledger/repair',
    {
      config,
      schema: {
        operationId: 'ledger.repair',
        tags,
        summary: 'Repairs one row, one kind, or everything that is open',
        description: 'Adds a job and answers at once. Repairs are idempotent: asking twice does no harm.',
        body: repairBody,
        response: { 202: repairAnswer, ...errorAnswers },
      },
    },
    async (request, reply) => {
      const { kind, id } = request.body ?? {};
      const jobId = await ledger.requestRepair({
        ...(kind === undefined ? {} : { kind }),
        ...(id === undefined ? {} : { id }),
      });
      return reply.code(202).send({ job_id: jobId });
    },
  );

  server.post(
    '/api/v1/ledger/:id/resolve',
    {
      config,
      schema: {
        operationId: 'ledger.resolve',
        tags,
        summary: 'Closes a row that a person has settled',
        params: idParams,
        body: resolveBody,
        response: { 200: ledgerEntry, ...errorAnswers },
      },
    },
    async (request) => viewOfEntry(await ledger.resolve(request.params.id, request.body.how)),
  );
}
