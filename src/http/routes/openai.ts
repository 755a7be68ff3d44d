// OpenAI's API for unmodified clients. Bodies are passed through as bytes.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import {
  chatAnswer,
  chatBody,
  embeddingsAnswer,
  embeddingsBody,
  openAiErrorAnswers,
  openAiModel,
  openAiModels,
  steeringHeaders,
} from '../../api/openai.ts';
import { CoreError } from '../../core/index.ts';
import type { Operation } from '../../gateway/index.ts';
import { GatewayError } from '../../gateway/index.ts';
import type { GatewayService, ServerDeps } from '../deps.ts';
import { HttpError } from '../errors.ts';
import { installNotFound } from '../guards.ts';
import type { TypedServer } from '../implement.ts';
import { completionOptions } from '../openai/completion-options.ts';
import { openAiErrorOf } from '../openai/openai-error.ts';
import { sendCompletion } from '../openai/send-completion.ts';
import { sendBeforeRest } from '../tenant-api/unread-body.ts';

const tags = ['openai'];
/** No audit row per completion: attempts and usage record them. */
const completionConfig = {
  access: 'gateway',
  isStream: true,
  audit: false,
  nulAllowedIn: 'everywhere',
} as const;
const readConfig = { access: 'gateway' } as const;

export function openAiRoutes(root: TypedServer, dependencies: ServerDeps): void {
  const { gateway } = dependencies;
  // A plugin with its own scope: errors have OpenAI's format, for unknown paths too, and bodies stay bytes.
  const plugin = async (scope: FastifyInstance): Promise<void> => {
    const server = scope.withTypeProvider<ZodTypeProvider>();
    server.setErrorHandler((error, request, reply) => sendError(error, request, reply, dependencies));
    installNotFound(scope);
    server.removeAllContentTypeParsers();
    server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
      done(null, body),
    );
    const handler = (operation: Operation) => (request: FastifyRequest, reply: FastifyReply) =>
      complete(operation, dependencies, request, reply);

    server.post(
      '/chat/completions',
      {
        config: completionConfig,
        bodyLimit: gateway.defaults.maxBodyBytes,
        // The gateway parses the bytes itself; the schema is documentation.
        validatorCompiler: () => () => true,
        schema: {
          operationId: 'openai.chat',
          tags,
          summary: 'Create a chat completion with the best available model, optionally streamed',
          description: `${modelField} All other fields are passed to the model unchanged. ${responseHeaders}`,
          headers: steeringHeaders,
          body: chatBody,
          response: { 200: chatAnswer, ...openAiErrorAnswers },
        },
      },
      handler('chat'),
    );

    server.post(
      '/embeddings',
      {
        config: completionConfig,
        bodyLimit: gateway.defaults.maxBodyBytes,
        validatorCompiler: () => () => true,
        schema: {
          operationId: 'openai.embeddings',
          tags,
          summary: 'Create embeddings',
          description: `Falls back only to other providers of the same model: vectors of different models never mix. ${responseHeaders}`,
          headers: steeringHeaders,
          body: embeddingsBody,
          response: { 200: embeddingsAnswer, ...openAiErrorAnswers },
        },
      },
      handler('embeddings'),
    );

    server.get(
      '/models',
      {
        config: readConfig,
        schema: {
          operationId: 'openai.models',
          tags,
          summary: 'List callable models: active ones with a key, and "auto"',
          response: { 200: openAiModels, ...openAiErrorAnswers },
        },
      },
      async () => ({ object: 'list' as const, data: callableModels(gateway) }),
    );

    server.get(
      '/models/*',
      {
        config: readConfig,
        schema: {
          operationId: 'openai.model',
          tags,
          summary: 'Get a callable model',
          response: { 200: openAiModel, ...openAiErrorAnswers },
        },
      },
      async (request) => {
        const name = (request.params as { readonly '*': string })['*'];
        const model = callableModels(gateway).find(({ id }) => id === name);
        if (model) return model;
        throw new GatewayError(
          'GATEWAY_MODEL_NOT_FOUND',
          `There is no callable model "${name}". GET /v1/models lists all.`,
        );
      },
    );
  };
  void root.register(plugin, { prefix: '/v1' });
}

const modelField =
  '`model` is `auto`, one name (tried first, then the rest), or names separated by commas; ' +
  '`x-headworks-fallback: none` disables the rest.';
const responseHeaders =
  'The headers `x-headworks-model`, `x-headworks-provider`, `x-headworks-attempts` and `x-headworks-fallback` name the model that responded.';

async function complete(
  operation: Operation,
  dependencies: ServerDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { gateway, log } = dependencies;
  const parsed = gateway.parseRequest(operation, bytesOf(request));
  const completion = await gateway.complete(parsed, completionOptions(request, reply, dependencies));
  return sendCompletion(reply, completion, log);
}

function bytesOf({ body, headers }: FastifyRequest): Uint8Array {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new HttpError(
      'HTTP_CONTENT_TYPE_UNSUPPORTED',
      'The request body is compressed, which is not supported here. Send plain JSON without content-encoding.',
    );
  if (body instanceof Uint8Array && body.byteLength > 0) return body;
  throw new CoreError(
    'INPUT_INVALID',
    'The request has no body. Send JSON with content-type: application/json.',
  );
}

function callableModels({ models }: GatewayService) {
  const names = models.listCallable().map(({ name, provider, createdAt }) => ({
    id: name,
    object: 'model' as const,
    created: Math.floor(createdAt.getTime() / 1_000),
    owned_by: provider,
  }));
  return [{ id: 'auto', object: 'model' as const, created: 0, owned_by: 'headworks' }, ...names];
}

function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { log, redactor, clock }: ServerDeps,
): void {
  const { status, headers, body, isUnexpected } = openAiErrorOf(error, request.id);
  if (isUnexpected)
    log.error('a request failed unexpectedly', {
      requestId: request.id,
      route: request.routeOptions.url ?? 'unmatched',
      error,
    });
  void reply.code(status).headers(headers).type('application/json; charset=utf-8');
  sendBeforeRest(JSON.stringify(redactor.value(body)), request.raw, reply, clock);
}
