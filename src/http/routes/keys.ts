// Handlers of gateway keys.
import { keysApi } from '../../api/keys.ts';
import { CoreError } from '../../core/index.ts';
import type { ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement } from '../implement.ts';

export function gatewayKeyRoutes(server: TypedServer, { gateway, clock }: ServerDeps): void {
  const { keys, models } = gateway;
  implement(server, keysApi, {
    list: async () => ({ keys: await keys.list() }),
    create: async ({ body }) => {
      const expiresAt = body.expiresAt === undefined ? null : new Date(body.expiresAt);
      if (expiresAt && expiresAt.getTime() <= clock.now())
        throw new CoreError('INPUT_INVALID', 'expires_at lies in the past.');
      const { key, record } = await keys.create({
        name: body.name,
        expiresAt,
        dailyTokenCap: body.dailyTokenCap ?? null,
      });
      return { ...record, key };
    },
    revoke: async ({ params }) => keys.revoke(params.id),
    listUsage: async ({ query }) => {
      const fromDay = query.fromDay ?? new Date(clock.now()).toISOString().slice(0, 10);
      const [usage, names] = await Promise.all([
        keys.usage({ fromDay, caller: query.caller }),
        models.names(),
      ]);
      return {
        usage: usage.map(({ modelId, ...line }) => ({
          ...line,
          model: names.get(modelId) ?? String(modelId),
        })),
      };
    },
  });
}
