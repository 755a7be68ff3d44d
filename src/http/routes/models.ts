// Models: what there is, how each is doing, and what an operator does with them.
import { callerSignal } from '../openai/caller-signal.ts';
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import {
  activeBody,
  availabilityQuery,
  explanationAnswer,
  historyQuery,
  incrementQuery,
  modelAnswer,
  modelBody,
  modelHistory,
  modelInput,
  modelParams,
  modelsAnswer,
  modelsQuery,
  probeAnswer,
  probeBody,
  viewOfExplanation,
  viewOfHistory,
  viewOfModel,
} from '../schemas/models.ts';
import { callerName } from './openai.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['models'];
const config = { access: 'admin' } as const;
const readable = { access: 'gateway' } as const;

export function modelRoutes(server: TypedServer, { gateway }: HttpDependencies): void {
  const { models } = gateway;

  server.get(
    '/api/v1/models',
    {
      config: readable,
      schema: {
        operationId: 'models.list',
        tags,
        summary: 'Models, the best first',
        querystring: modelsQuery,
        response: { 200: modelsAnswer, ...errorAnswers },
      },
    },
    async ({ query }) => {
      const found = await models.list({
        activeOnly: query.active_only,
        availableOnly: query.available_only,
        configuredOnly: query.configured_only,
        includeRecent: query.include_recent,
        windowDays: query.window_days,
      });
      return found.map(viewOfModel);
    },
  );

  server.post(
    '/api/v1/models',
    {
      config,
      schema: {
        operationId: 'models.add',
        tags,
        summary: 'Adds a model of any OpenAI-compatible server',
        body: modelBody,
        response: { 201: modelAnswer, ...errorAnswers },
      },
    },
    async ({ body }, reply) => reply.code(201).send(viewOfModel(await models.add(modelInput(body)))),
  );

  server.get(
    '/api/v1/models/:id',
    {
      config: readable,
      schema: {
        operationId: 'models.get',
        tags,
        summary: 'One model',
        params: modelParams,
        response: { 200: modelAnswer, ...errorAnswers },
      },
    },
    async ({ params }) => viewOfModel(await models.get(params.id)),
  );

  server.put(
    '/api/v1/models/:id',
    {
      config,
      schema: {
        operationId: 'models.replace',
        tags,
        summary: 'Gives a model that was added another definition',
        description:
          'The name stays. Scores and usage stay, too; cooldowns go when it leads elsewhere now. Models that come ' +
          'with the product or stand in the settings cannot be replaced (409).',
        params: modelParams,
        body: modelBody,
        response: { 200: modelAnswer, ...errorAnswers },
      },
    },
    async ({ params, body }) => viewOfModel(await models.replace(params.id, modelInput(body))),
  );

  server.delete(
    '/api/v1/models/:id',
    {
      config,
      schema: {
        operationId: 'models.remove',
        tags,
        summary: 'Removes a model that was added, and gives back what it was',
        description:
          'What was used of it stays in the usage. Models that come with the product or stand in the settings ' +
          'cannot be removed (409); disable them.',
        params: modelParams,
        response: { 200: modelAnswer, ...errorAnswers },
      },
    },
    async ({ params }) => viewOfModel(await models.remove(params.id)),
  );

  server.patch(
    '/api/v1/models/:id/availability',
    {
      config,
      schema: {
        operationId: 'models.set-availability',
        tags,
        summary: 'Leaves a model alone for a while, or (0) takes every cooldown back',
        params: modelParams,
        querystring: availabilityQuery,
        response: { 200: modelAnswer, ...errorAnswers },
      },
    },
    async ({ params, query }) =>
      viewOfModel(await models.setAvailability(params.id, query.retry_after_seconds, query.reason ?? null)),
  );

  server.patch(
    '/api/v1/models/:id/active',
    {
      config,
      schema: {
        operationId: 'models.set-active',
        tags,
        summary: 'Enables or disables a model',
        params: modelParams,
        body: activeBody,
        response: { 200: modelAnswer, ...errorAnswers },
      },
    },
    async ({ params, body }) => viewOfModel(await models.setActive(params.id, body.is_active)),
  );

  for (const [name, outcome] of [
    ['increment-success', 'success'],
    ['increment-failure', 'server-error'],
  ] as const)
    server.post(
      `/api/v1/models/:id/${name}`,
      {
        config,
        schema: {
          operationId: `models.${name}`,
          tags,
          summary: `Appends ${outcome === 'success' ? 'a successful' : 'a failed'} attempt by hand`,
          params: modelParams,
          querystring: incrementQuery,
          response: { 200: modelAnswer, ...errorAnswers },
        },
      },
      async ({ params, query }) =>
        viewOfModel(await models.increment(params.id, outcome, query.response_time ?? null)),
    );

  server.get(
    '/api/v1/models/:id/explain',
    {
      config: readable,
      schema: {
        operationId: 'models.explain',
        tags,
        summary: 'How a score came about, and the place it gives',
        description: 'With a gateway key, `recent_attempts` are those of this key alone.',
        params: modelParams,
        response: { 200: explanationAnswer, ...errorAnswers },
      },
    },
    async ({ params, caller }) => {
      const explanation = await models.explain(params.id);
      if (caller?.kind === 'admin') return viewOfExplanation(explanation);
      // Who else asks, and how much, is nobody's business but the operator's.
      const own = callerName(caller);
      return viewOfExplanation({
        ...explanation,
        recentAttempts: explanation.recentAttempts.filter((attempt) => attempt.caller === own),
      });
    },
  );

  server.get(
    '/api/v1/models/:id/history',
    {
      config,
      schema: {
        operationId: 'models.history',
        tags,
        summary: 'How a model did over time',
        params: modelParams,
        querystring: historyQuery,
        response: { 200: modelHistory, ...errorAnswers },
      },
    },
    async ({ params, query }) => viewOfHistory(await models.history(params.id, query.hours)),
  );

  server.post(
    '/api/v1/models/probe',
    {
      config: { ...config, isStream: true },
      schema: {
        operationId: 'models.probe',
        tags,
        summary: 'Asks models something cheap now',
        body: probeBody,
        response: { 200: probeAnswer, ...errorAnswers },
      },
    },
    async ({ body }, reply) => {
      const results = await models.probe(body?.ids ?? null, callerSignal(reply.raw));
      return {
        probes: results.map(({ model, outcome, reason, durationMs }) => ({
          model,
          outcome,
          reason,
          duration_ms: durationMs,
        })),
      };
    },
  );
}
