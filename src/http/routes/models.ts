// Handlers of models.
import type { z } from 'zod';
import { ModelRequest, modelsApi } from '../../api/models.ts';
import { fromWire } from '../../api/names.ts';
import { toSnakeCase } from '../../core/index.ts';
import type { ModelView } from '../../gateway/index.ts';
import { modelProblems } from '../../gateway/index.ts';
import type { ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement } from '../implement.ts';
import { callerName } from '../openai/completion-options.ts';

export function modelRoutes(server: TypedServer, { gateway: { models } }: ServerDeps): void {
  implement(
    server,
    modelsApi,
    {
      list: async ({ query }) => (await models.list(query)).map(withDates),
      create: async ({ body }) => withDates(await models.add(body)),
      get: async ({ params }) => withDates(await models.get(params.id)),
      update: async ({ params, body }) => withDates(await models.replace(params.id, body)),
      delete: async ({ params }) => withDates(await models.remove(params.id)),
      setCooldown: async ({ params, query }) =>
        withDates(await models.setAvailability(params.id, query.retryAfterSeconds, query.reason ?? null)),
      setActive: async ({ params, body }) => withDates(await models.setActive(params.id, body.isActive)),
      incrementSuccess: async ({ params, query }) =>
        withDates(await models.increment(params.id, 'success', query.responseTime ?? null)),
      incrementFailure: async ({ params, query }) =>
        withDates(await models.increment(params.id, 'server-error', query.responseTime ?? null)),
      explain: async ({ params, caller }) => {
        const { model, backoffUntil, recentAttempts, ...rest } = await models.explain(params.id);
        // A gateway key sees its own attempts only.
        const isVisible = (attempt: { readonly caller: string }): boolean =>
          caller?.kind === 'admin' || attempt.caller === callerName(caller);
        return {
          ...rest,
          model: withDates(model),
          backoffUntil: backoffUntil === null ? null : new Date(backoffUntil),
          recentAttempts: recentAttempts
            .filter(isVisible)
            .map((attempt) => ({ ...attempt, at: new Date(attempt.at) })),
        };
      },
      getHistory: async ({ params, query }) => {
        const { intervals, ...history } = await models.history(params.id, query.hours);
        return { ...history, intervals: intervals.map((each) => ({ ...each, at: new Date(each.at) })) };
      },
      probe: async ({ body, signal }) => ({ probes: await models.probe(body?.ids ?? null, signal) }),
    },
    { create: { body: checkedModel }, update: { body: checkedModel } },
  );
}

const withDates = ({ cooldowns, ...model }: ModelView) => ({
  ...model,
  cooldowns: cooldowns.map((cooldown) => ({ ...cooldown, until: new Date(cooldown.until) })),
});

/** What the gateway would reject is reported together with wrong shapes, so that the caller learns all of it at once. */
const checkedModel: z.ZodType = ModelRequest.superRefine(
  (body, context) => {
    const known = new Set(context.issues.map(({ path = [] }) => path.join('.')));
    for (const { path, message } of modelProblems(fromWire(ModelRequest, body))) {
      const names = path.map(toSnakeCase);
      if (path.length > 0 && !known.has(names.join('.')))
        context.addIssue({ code: 'custom', path: names, message });
    }
  },
  { when: ({ value }) => typeof value === 'object' && value !== null && !Array.isArray(value) },
).meta({ id: 'ModelRequest' });
