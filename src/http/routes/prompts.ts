// One prompt through the gateway, in the shapes of the founding document.
import type { z } from 'zod';
import { GatewayError, completionText } from '../../gateway/index.ts';
import type { CompletionResult } from '../../gateway/index.ts';
import { attemptsId } from '../openai/attempts-id.ts';
import { callerSignal } from '../openai/caller-signal.ts';
import { triedModelAnswer } from '../openai/openai-error.ts';
import { parseRoutingHeaders } from '../openai/request-headers.ts';
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import { steeringHeaders } from '../schemas/openai.ts';
import { promptAnswer, promptBody, promptExhausted } from '../schemas/prompts.ts';
import { callerName } from './openai.ts';
import type { TypedServer } from './typed-server.ts';

export function promptRoutes(server: TypedServer, { gateway, ids }: HttpDependencies): void {
  server.post(
    '/api/v1/prompts/process',
    {
      config: { access: 'gateway', isStream: true, audit: false, nulAllowedIn: 'everywhere' },
      schema: {
        operationId: 'prompts.process',
        tags: ['prompts'],
        summary: 'Asks the best model that answers',
        // The others stay as they came.
        headers: steeringHeaders.loose(),
        body: promptBody,
        response: {
          200: promptAnswer,
          429: promptExhausted,
          503: promptExhausted,
          ...errorAnswers,
        },
      },
    },
    async (request, reply) => {
      try {
        const completion = await gateway.complete({
          requestId: attemptsId(request, ids),
          ask: gateway.read('chat', chatRequest(request.body)),
          caller: callerName(request.caller),
          ...parseRoutingHeaders(request.headers, gateway.defaults),
          signal: callerSignal(reply.raw, reply.server.traffic),
        });
        return answerOf(request.body.prompt, completion);
      } catch (error) {
        const exhausted = exhaustedAnswer(error, request.id);
        if (!exhausted) throw error;
        const { status, body } = exhausted;
        if (body.retry_after !== null)
          reply.header('retry-after', String(Math.max(1, Math.ceil(body.retry_after))));
        return reply.code(status).send(body);
      }
    },
  );
}

function chatRequest(input: z.infer<typeof promptBody>): Uint8Array {
  const { prompt, system_prompt, model_name, response_format } = input;
  return Buffer.from(
    JSON.stringify({
      model: model_name ?? 'auto',
      messages: [
        ...(typeof system_prompt !== 'string' ? [] : [{ role: 'system', content: system_prompt }]),
        { role: 'user', content: prompt },
      ],
      ...(response_format ? { response_format } : {}),
    }),
  );
}

function answerOf(prompt: string, completion: CompletionResult): z.infer<typeof promptAnswer> {
  return {
    prompt,
    response: completionText(completion),
    selected_model: completion.model.name,
    provider: completion.model.provider,
    response_time_seconds: completion.durationMs / 1_000,
    success: true,
    attempts: completion.attempts,
    fallback_used: completion.isFallback,
  };
}

function exhaustedAnswer(
  error: unknown,
  requestId: string,
): { readonly status: 429 | 503; readonly body: z.infer<typeof promptExhausted> } | undefined {
  if (!(error instanceof GatewayError)) return undefined;
  if (error.code !== 'GATEWAY_ALL_RATE_LIMITED' && error.code !== 'GATEWAY_EXHAUSTED') return undefined;
  const isLimited = error.code === 'GATEWAY_ALL_RATE_LIMITED';
  const asked = error.tried.filter(({ tries }) => tries > 0);
  return {
    status: isLimited ? 429 : 503,
    body: {
      error: isLimited ? 'all_rate_limited' : 'service_unavailable',
      message: error.message,
      retry_after: error.retryAfterMs === undefined ? null : error.retryAfterMs / 1_000,
      attempts: asked.reduce((sum, { tries }) => sum + tries, 0),
      providers_tried: new Set(asked.map(({ provider }) => provider)).size,
      providers_available: new Set(error.tried.map(({ provider }) => provider)).size,
      models: error.tried.map(triedModelAnswer),
      request_id: requestId,
    },
  };
}
