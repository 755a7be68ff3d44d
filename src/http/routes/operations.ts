// What an operator asks of a running server: its settings, its health in full, its API document.
import { z } from 'zod';
import type { DoctorReport } from '../../operations/index.ts';
import type { ConfigValue, HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import { backupAnswer, backupBody, configAnswer, doctorAnswer } from '../schemas/health.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['operations'];

export function operationRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  server.get(
    '/api/v1/config',
    {
      config: { access: 'admin' },
      schema: {
        operationId: 'config.show',
        tags,
        summary: 'Every setting, and where it came from',
        description: 'Values are read once, at start. Secrets are masked.',
        response: { 200: configAnswer, ...errorAnswers },
      },
    },
    async () => ({ values: dependencies.configView().map(viewOfValue) }),
  );

  server.get(
    '/api/v1/doctor',
    {
      config: { access: 'admin' },
      schema: {
        operationId: 'doctor.examine',
        tags,
        summary: 'Checks everything, with remedies',
        description: 'Asks every dependency now, so it takes longer than /readyz.',
        response: { 200: doctorAnswer, ...errorAnswers },
      },
    },
    async () => {
      const { checks } = await dependencies.doctor();
      return { status: worst(checks), checks: [...checks] };
    },
  );

  server.post(
    '/api/v1/backup',
    {
      config: { access: 'admin', isStream: true },
      schema: {
        operationId: 'backup.make',
        tags,
        summary: 'A backup of everything, as of one moment',
        description:
          'Rows of all tables, jobs included, vaults of extractions, and the secret that webhooks are signed with if ' +
          'it is kept in the data folder; not the admin token. Keep it as safe as the store itself. ' +
          '"headworks backup" writes it to a file and checks it, "headworks restore" reads it.',
        body: backupBody,
        response: { 200: backupAnswer, ...errorAnswers },
      },
    },
    async (request, reply) =>
      reply
        .headers({ 'content-type': 'application/gzip', 'cache-control': 'no-store, no-transform' })
        .send(dependencies.backup.open(request.body) as never),
  );

  let document: string | undefined;
  server.get(
    '/openapi.json',
    {
      config: { access: 'public' },
      schema: {
        operationId: 'openapi.document',
        tags,
        summary: 'This API as an OpenAPI 3.1 document',
        response: { 200: z.looseObject({ openapi: z.string() }).describe('The document.'), ...errorAnswers },
      },
    },
    // As text: it is large, never changes, and holds no data that could be secret.
    async (_request, reply) =>
      reply
        .type('application/json; charset=utf-8')
        .serializer(String)
        .send((document ??= JSON.stringify(server.swagger())) as never),
  );
}

function viewOfValue({ name, value, source, sourceName, isSecret }: ConfigValue) {
  const shown = isSecret && value !== null && value !== undefined ? '[secret]' : (value ?? null);
  return { name, value: shown, source, source_name: sourceName, secret: isSecret };
}

function worst(checks: DoctorReport['checks']): 'ok' | 'warning' | 'problem' {
  if (checks.some(({ state }) => state === 'problem')) return 'problem';
  return checks.some(({ state }) => state === 'warning') ? 'warning' : 'ok';
}
