// Spans of requests and their attempts by the semantic conventions of OpenTelemetry for generative AI
// (https://opentelemetry.io/docs/specs/semconv/gen-ai/). Only used when traces are sent. They contain no content.
import type { SpanFacts, Tracer } from '../../core/index.ts';
import { HeadworksError, latin1Of } from '../../core/index.ts';
import { tapStream } from '../providers/tap-stream.ts';
import type { CompletionOptions, CompletionRequest, CompletionResult, Model, TokenUsage } from '../types.ts';
import { costOf } from './cost.ts';
import type { Call, CallResult } from './settle-call.ts';

type Complete = (request: CompletionRequest, options: CompletionOptions) => Promise<CompletionResult>;

/** The same as `complete`, inside a span that lasts until the end of the response. */
export function traceRequests(tracer: Tracer, complete: Complete): Complete {
  return async (request, options) => {
    const span = tracer.begin(spanName(request, request.model), {
      ...requestFacts(request, request.model),
      'headworks.request_id': options.requestId,
    });
    let result: CompletionResult;
    try {
      result = await span.run(() => complete(request, options));
    } catch (error) {
      const code = error instanceof HeadworksError ? error.code : 'INTERNAL';
      span.end({ 'error.type': code }, code !== 'CANCELED');
      throw error;
    }
    const { response, model, attempts } = result;
    const reasons = new Set<string>();
    const factsOf = (tokens: TokenUsage): SpanFacts => ({
      ...modelFacts(model),
      ...usageFacts(tokens),
      ...costFacts(model, tokens, request),
      ...(reasons.size > 0 && { 'gen_ai.response.finish_reasons': [...reasons] }),
      'headworks.attempts': attempts,
    });
    if (response.kind === 'response') {
      addFinishReasons(reasons, response.body);
      span.end(factsOf(response.tokens), false);
      return result;
    }
    const tapped = tapStream(response, (chunk) => addFinishReasons(reasons, chunk));
    void response.ended.then(({ failureClass, tokens }) =>
      span.end(
        { ...factsOf(tokens), ...(failureClass !== null && { 'error.type': failureClass }) },
        failureClass !== null && failureClass !== 'canceled',
      ),
    );
    return { ...result, response: tapped };
  };
}

/** A span of one call, which has just ended. */
export const traceAttempts =
  (tracer: Tracer) =>
  ({ routed, state, model, number }: Call, { outcome, status, durationMs, tokens }: CallResult): void => {
    const { request, options } = routed;
    const facts: SpanFacts = {
      ...requestFacts(request, model.upstreamModel),
      ...modelFacts(model),
      ...serverFacts(state.candidate.baseUrl),
      ...(tokens && { ...usageFacts(tokens), ...costFacts(model, tokens, request) }),
      ...(status !== null && { 'http.response.status_code': status }),
      ...(outcome !== 'success' && { 'error.type': outcome }),
      'headworks.request_id': options.requestId,
      'headworks.model': model.name,
      'headworks.attempt': number,
    };
    const hasFailed = outcome !== 'success' && outcome !== 'canceled';
    tracer.past(spanName(request, model.upstreamModel), facts, durationMs, hasFailed, 'client');
  };

const spanName = (request: CompletionRequest, model: string): string => `${operationName(request)} ${model}`;

/** The names of the conventions where they have one. */
function operationName({ api, operation }: CompletionRequest): string {
  return api === 'completions' ? 'text_completion' : operation;
}

const requestFacts = (request: CompletionRequest, model: string): SpanFacts => ({
  'gen_ai.operation.name': operationName(request),
  'gen_ai.request.model': model,
  ...(request.isStream && { 'gen_ai.request.stream': true }),
});

/** The names of the conventions; other providers have their own. */
const providerNames: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  bedrock: 'aws.bedrock',
  gemini: 'gcp.gemini',
  mistral: 'mistral_ai',
  vertex: 'gcp.vertex_ai',
  xai: 'x_ai',
};

const modelFacts = ({ provider, upstreamModel }: Model): SpanFacts => ({
  'gen_ai.provider.name': providerNames[provider] ?? provider,
  'gen_ai.response.model': upstreamModel,
});

const usageFacts = ({ prompt, completion, cacheRead, cacheWrite, reasoning }: TokenUsage): SpanFacts => ({
  'gen_ai.usage.input_tokens': prompt,
  'gen_ai.usage.output_tokens': completion,
  ...(cacheRead > 0 && { 'gen_ai.usage.cache_read.input_tokens': cacheRead }),
  ...(cacheWrite > 0 && { 'gen_ai.usage.cache_creation.input_tokens': cacheWrite }),
  ...(reasoning > 0 && { 'gen_ai.usage.reasoning.output_tokens': reasoning }),
});

function costFacts({ price }: Model, tokens: TokenUsage, request: CompletionRequest): SpanFacts {
  const costUsd = costOf(price, tokens, request);
  return costUsd === null ? {} : { 'headworks.cost_usd': costUsd };
}

function serverFacts(baseUrl: string): SpanFacts {
  const { hostname, port, protocol } = new URL(baseUrl);
  const standardPort = protocol === 'https:' ? 443 : 80;
  return { 'server.address': hostname, 'server.port': port === '' ? standardPort : Number(port) };
}

/** In the formats of chat, completions and Messages. Quotes in content are escaped, so it never matches. */
function addFinishReasons(reasons: Set<string>, bytes: Uint8Array): void {
  for (const [, reason = ''] of latin1Of(bytes).matchAll(
    /"(?:finish_reason|stop_reason)": ?"([a-z_]{1,40})"/g,
  ))
    reasons.add(reason);
}
