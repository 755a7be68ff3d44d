// How many requests organizations may have under way at once: set, seen, taken back.
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import {
  clearCacheAnswer,
  clearCacheBody,
  limitAnswer,
  limitBody,
  limitChanged,
  limitQuery,
  limitsAnswer,
  limitsQuery,
  viewOfLimit,
} from '../schemas/limits.ts';
import { organizationParams } from '../schemas/organizations.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['limits'];
const config = { access: 'admin' } as const;

export function limitRoutes(server: TypedServer, { tenants }: HttpDependencies): void {
  const { limits, organizations } = tenants;

  server.get(
    '/api/v1/limits',
    {
      config,
      schema: {
        operationId: 'limits.list',
        tags,
        summary: 'Organizations that have a limit of their own',
        querystring: limitsQuery,
        response: { 200: limitsAnswer, ...errorAnswers },
      },
    },
    async ({ query }) => {
      const views = await limits.list({ withUsage: query.with_usage });
      const names = new Map(organizations.list().map(({ id, name }) => [id, name]));
      return {
        default_limit: limits.defaultLimit,
        global_limit: limits.globalLimit,
        limits: views.map((view) => viewOfLimit(view, names.get(view.organizationId) ?? view.organizationId)),
      };
    },
  );

  server.get(
    '/api/v1/limits/:organization',
    {
      config,
      schema: {
        operationId: 'limits.get',
        tags,
        summary: 'What an organization may do at once, and does',
        params: organizationParams,
        querystring: limitQuery,
        response: { 200: limitAnswer, ...errorAnswers },
      },
    },
    async ({ params, query }) => {
      const { id, name } = organizations.find(params.organization);
      return viewOfLimit(await limits.get(id, { clearCache: query.clear_cache }), name);
    },
  );

  server.put(
    '/api/v1/limits/:organization',
    {
      config,
      schema: {
        operationId: 'limits.set',
        tags,
        summary: 'Gives an organization a limit of its own; it counts at once, everywhere',
        params: organizationParams,
        body: limitBody,
        response: { 200: limitChanged, ...errorAnswers },
      },
    },
    async ({ params, body }) => {
      const { id, name } = organizations.find(params.organization);
      const { view, isNew } = await limits.set(id, body.limit);
      return { ...viewOfLimit(view, name), is_new: isNew };
    },
  );

  server.delete(
    '/api/v1/limits/:organization',
    {
      config,
      schema: {
        operationId: 'limits.delete',
        tags,
        summary: 'Takes back the limit of an organization; the default counts from then on',
        params: organizationParams,
        response: { 200: limitAnswer, ...errorAnswers },
      },
    },
    async ({ params }) => {
      const { id, name } = organizations.find(params.organization);
      return viewOfLimit(await limits.delete(id), name);
    },
  );

  server.post(
    '/api/v1/limits/clear-cache',
    {
      config,
      schema: {
        operationId: 'limits.clear-cache',
        tags,
        summary: 'Forgets cached limits; they are read again with the next request',
        body: clearCacheBody,
        response: { 200: clearCacheAnswer, ...errorAnswers },
      },
    },
    async ({ body }) => {
      const wanted = body?.organization;
      const which =
        wanted === undefined ? (body?.all === true ? 'all' : 'custom') : [organizations.find(wanted).id];
      return { deleted: await limits.clearCache(which) };
    },
  );
}
