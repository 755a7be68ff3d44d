// Gateway keys: made once, shown once, revoked; and what was used with them.
import { CoreError } from '../../core/index.ts';
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import { idParams } from '../schemas/fields.ts';
import {
  gatewayKey,
  gatewayKeyBody,
  gatewayKeys,
  newGatewayKey,
  usageAnswer,
  usageQuery,
  viewOfGatewayKey,
  viewOfUsage,
} from '../schemas/gateway-keys.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['keys'];
const config = { access: 'admin' } as const;

export function gatewayKeyRoutes(server: TypedServer, { gateway, clock }: HttpDependencies): void {
  const { keys, models } = gateway;

  server.get(
    '/api/v1/keys',
    {
      config,
      schema: {
        operationId: 'keys.list',
        tags,
        summary: 'Gateway keys',
        response: { 200: gatewayKeys, ...errorAnswers },
      },
    },
    async () => ({
      keys: (await keys.list()).map((key) => ({ ...viewOfGatewayKey(key), tokens_today: key.tokensToday })),
    }),
  );

  server.post(
    '/api/v1/keys',
    {
      config,
      schema: {
        operationId: 'keys.create',
        tags,
        summary: 'A new gateway key; it is shown this once',
        body: gatewayKeyBody,
        response: { 201: newGatewayKey, ...errorAnswers },
      },
    },
    async ({ body }, reply) => {
      const expiresAt = body.expires_at === undefined ? null : new Date(body.expires_at);
      if (expiresAt && expiresAt.getTime() <= clock.now())
        throw new CoreError('INPUT_INVALID', 'expires_at lies in the past.');
      const { key, record } = await keys.create({
        name: body.name,
        expiresAt,
        dailyTokenCap: body.daily_token_cap ?? null,
      });
      return reply.code(201).send({ ...viewOfGatewayKey(record), key });
    },
  );

  server.delete(
    '/api/v1/keys/:id',
    {
      config,
      schema: {
        operationId: 'keys.revoke',
        tags,
        summary: 'Revokes a gateway key, for good',
        params: idParams,
        response: { 200: gatewayKey, ...errorAnswers },
      },
    },
    async ({ params }) => viewOfGatewayKey(await keys.revoke(params.id)),
  );

  server.get(
    '/api/v1/usage',
    {
      config,
      schema: {
        operationId: 'usage.list',
        tags,
        summary: 'Requests and tokens by day, caller and model',
        querystring: usageQuery,
        response: { 200: usageAnswer, ...errorAnswers },
      },
    },
    async ({ query }) => {
      const fromDay = query.from_day ?? new Date(clock.now()).toISOString().slice(0, 10);
      const usage = await keys.usage({
        fromDay,
        ...(query.caller === undefined ? {} : { caller: query.caller }),
      });
      const names = await models.names();
      return {
        usage: usage.map((line) => viewOfUsage(line, (modelId) => names.get(modelId) ?? String(modelId))),
      };
    },
  );
}
