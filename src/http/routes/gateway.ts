// Handlers of models, gateway keys and single prompts.
import type { z } from 'zod';
import { keysApi } from '../../api/keys.ts';
import { requestsApi } from '../../api/requests.ts';
import { ModelRequest, modelsApi } from '../../api/models.ts';
import { fromWire } from '../../api/names.ts';
import type { PromptExhausted } from '../../api/completions.ts';
import { promptsApi } from '../../api/completions.ts';
import { CoreError, toSnakeCase } from '../../core/index.ts';
import type { CompletionResult } from '../../gateway/index.ts';
import { completionText, GatewayError, modelProblems, usageTotals } from '../../gateway/index.ts';
import type { Caller } from '../access.ts';
import type { ServerDeps } from '../deps.ts';
import type { HandlerInput, TypedServer } from '../implement.ts';
import { implement } from '../implement.ts';
import { callerName, completionOptions } from './completions.ts';
import { triedModelBody } from '../completion-errors.ts';

export function gatewayRoutes(server: TypedServer, dependencies: ServerDeps): void {
  modelRoutes(server, dependencies);
  keyRoutes(server, dependencies);
  requestRoutes(server, dependencies);
  implement(server, promptsApi, {
    process: async ({ body, request, reply }) => {
      const { gateway } = dependencies;
      try {
        const parsed = gateway.parseRequest('chat', chatRequest(body));
        const completion = await gateway.complete(parsed, completionOptions(request, reply, dependencies));
        return responseOf(body.prompt, completion);
      } catch (error) {
        const exhausted = exhaustedResponse(error, request.id);
        if (!exhausted) throw error;
        const { status, body: response } = exhausted;
        if (response.retry_after !== null)
          reply.header('retry-after', String(Math.max(1, Math.ceil(response.retry_after))));
        return reply.code(status).send(response);
      }
    },
  });
}

function modelRoutes(server: TypedServer, { gateway: { models, discovery } }: ServerDeps): void {
  implement(
    server,
    modelsApi,
    {
      list: ({ query }) => models.list(query),
      create: ({ body }) => models.add(body),
      get: ({ params }) => models.get(params.id),
      update: ({ params, body }) => models.replace(params.id, body),
      delete: ({ params }) => models.remove(params.id),
      setCooldown: ({ params, query }) =>
        models.setAvailability(params.id, query.retryAfterSeconds, query.reason ?? null),
      setActive: ({ params, body }) => models.setActive(params.id, body.isActive),
      incrementSuccess: ({ params, query }) =>
        models.increment(params.id, 'success', query.responseTime ?? null),
      incrementFailure: ({ params, query }) =>
        models.increment(params.id, 'server-error', query.responseTime ?? null),
      explain: async ({ params, caller }) => {
        const { recentAttempts, ...explained } = await models.explain(params.id);
        // A gateway key sees its own attempts only.
        const isVisible = (attempt: { readonly caller: string }): boolean =>
          caller?.kind === 'admin' || attempt.caller === callerName(caller);
        return {
          ...explained,
          recentAttempts: recentAttempts
            .filter(isVisible)
            .map((attempt) => ({ ...attempt, at: new Date(attempt.at) })),
        };
      },
      getHistory: async ({ params, query }) => {
        const { intervals, ...history } = await models.history(params.id, query.hours);
        return { ...history, intervals: intervals.map((each) => ({ ...each, at: new Date(each.at) })) };
      },
      discover: async ({ body, signal }) => {
        const isDryRun = body?.dryRun ?? false;
        const discoveries = await discovery.discover({ provider: body?.provider, isDryRun }, signal);
        return { dryRun: isDryRun, discoveries };
      },
      listDiscoveries: async ({ query: { limit, ...filter } }) => {
        const found = await discovery.list({ ...filter, limit: limit + 1 });
        const discoveries = found.slice(0, limit);
        return { discoveries, next: found.length > limit ? (discoveries.at(-1)?.id ?? null) : null };
      },
      probe: async ({ body, signal }) => ({ probes: await models.probe(body?.ids ?? null, signal) }),
    },
    { create: { body: checkedModel }, update: { body: checkedModel } },
  );
}

/** What the gateway would reject is reported together with wrong shapes, so that the caller gets all problems at once. */
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

function keyRoutes(server: TypedServer, { gateway: { keys, models }, clock }: ServerDeps): void {
  implement(server, keysApi, {
    list: async () => ({ keys: await keys.list() }),
    create: async ({ body }) => {
      const expiresAt = body.expiresAt === undefined ? null : new Date(body.expiresAt);
      if (expiresAt && expiresAt.getTime() <= clock.now())
        throw new CoreError('INPUT_INVALID', 'expires_at is in the past.');
      const { key, record } = await keys.create({ ...body, expiresAt });
      return { ...record, key };
    },
    update: ({ params, body }) => keys.setLimits(params.id, body),
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
        totals: usageTotals(usage),
      };
    },
  });
}

function requestRoutes(server: TypedServer, { gateway: { requests } }: ServerDeps): void {
  /** A gateway key sees its own requests only. */
  const onlyCaller = (caller: Caller | null) => (caller?.kind === 'admin' ? null : callerName(caller));
  implement(server, requestsApi, {
    list: async ({ query: { caller: wanted, since, ...query }, caller }) => {
      const own = onlyCaller(caller);
      if (own !== null && wanted !== undefined && wanted !== own) return { requests: [], next: null };
      const page = await requests.list({
        ...query,
        caller: own ?? wanted,
        since: since === undefined ? undefined : new Date(since),
      });
      return {
        ...page,
        requests: page.requests.map(({ calls, ...request }) => ({
          ...request,
          at: new Date(request.at),
          attempts: calls,
        })),
      };
    },
    get: async ({ params, caller }) => {
      const found = await requests.get(params.id, onlyCaller(caller));
      const attempts = found.attempts.map((attempt) => ({ ...attempt, at: new Date(attempt.at) }));
      return { ...found, at: new Date(found.at), attempts };
    },
  });
}

type PromptBody = HandlerInput<(typeof promptsApi)['process']>['body'];

function chatRequest({ prompt, systemPrompt, modelName, responseFormat }: PromptBody): Uint8Array {
  return Buffer.from(
    JSON.stringify({
      model: modelName ?? 'auto',
      messages: [
        ...(typeof systemPrompt === 'string' ? [{ role: 'system', content: systemPrompt }] : []),
        { role: 'user', content: prompt },
      ],
      ...(responseFormat ? { response_format: responseFormat } : {}),
    }),
  );
}

const responseOf = (prompt: string, completion: CompletionResult) => ({
  prompt,
  response: completionText(completion),
  selectedModel: completion.model.name,
  provider: completion.model.provider,
  responseTimeSeconds: completion.durationMs / 1_000,
  success: true as const,
  attempts: completion.attempts,
  fallbackUsed: completion.isFallback,
});

function exhaustedResponse(
  error: unknown,
  requestId: string,
): { readonly status: 429 | 503; readonly body: PromptExhausted } | undefined {
  if (!(error instanceof GatewayError)) return undefined;
  if (error.code !== 'GATEWAY_ALL_RATE_LIMITED' && error.code !== 'GATEWAY_EXHAUSTED') return undefined;
  const isLimited = error.code === 'GATEWAY_ALL_RATE_LIMITED';
  const called = error.tried.filter(({ attempts }) => attempts > 0);
  return {
    status: isLimited ? 429 : 503,
    body: {
      error: isLimited ? 'all_rate_limited' : 'service_unavailable',
      message: error.message,
      retry_after: error.retryAfterMs === undefined ? null : error.retryAfterMs / 1_000,
      attempts: called.reduce((sum, { attempts }) => sum + attempts, 0),
      providers_tried: new Set(called.map(({ provider }) => provider)).size,
      providers_available: new Set(error.tried.map(({ provider }) => provider)).size,
      models: error.tried.map(triedModelBody),
      request_id: requestId,
    },
  };
}
