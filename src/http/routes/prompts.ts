// Handler of one prompt through the gateway.
import type { PromptExhausted } from '../../api/prompts.ts';
import { promptsApi } from '../../api/prompts.ts';
import type { CompletionResult } from '../../gateway/index.ts';
import { GatewayError, completionText } from '../../gateway/index.ts';
import type { ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement } from '../implement.ts';
import { completionOptions } from '../openai/completion-options.ts';
import { triedModelBody } from '../openai/openai-error.ts';

export function promptRoutes(server: TypedServer, { gateway, ids }: ServerDeps): void {
  implement(server, promptsApi, {
    process: async ({ body, request, reply }) => {
      try {
        const completion = await gateway.complete(
          gateway.parseRequest('chat', chatRequest(body)),
          completionOptions(request, reply, { gateway, ids }),
        );
        return responseOf(body.prompt, completion);
      } catch (error) {
        const exhausted = exhaustedResponse(error, request.id);
        if (!exhausted) throw error;
        if (exhausted.body.retry_after !== null)
          reply.header('retry-after', String(Math.max(1, Math.ceil(exhausted.body.retry_after))));
        return reply.code(exhausted.status).send(exhausted.body);
      }
    },
  });
}

function chatRequest(input: {
  readonly prompt: string;
  readonly systemPrompt?: string | null;
  readonly modelName?: string | null;
  readonly responseFormat?: object | null;
}): Uint8Array {
  const { prompt, systemPrompt, modelName, responseFormat } = input;
  return Buffer.from(
    JSON.stringify({
      model: modelName ?? 'auto',
      messages: [
        ...(typeof systemPrompt !== 'string' ? [] : [{ role: 'system', content: systemPrompt }]),
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
      models: error.tried.map(triedModelBody),
      request_id: requestId,
    },
  };
}
