// OpenAI's API for unmodified clients. Bodies are passed through as bytes.
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { openAiApi } from '../../api/openai.ts';
import type { Operation } from '../../api/operation.ts';
import { CoreError } from '../../core/index.ts';
import { GatewayError } from '../../gateway/index.ts';
import type { GatewayService, ServerDeps } from '../deps.ts';
import { HttpError } from '../errors.ts';
import { installNotFound } from '../guards.ts';
import type { TypedServer } from '../implement.ts';
import { routeOf } from '../implement.ts';
import { completionOptions } from '../openai/completion-options.ts';
import { openAiErrorOf } from '../openai/openai-error.ts';
import { sendCompletion } from '../openai/send-completion.ts';
import { sendBeforeRest } from '../lifecycle.ts';

/** The prefix of the plugin; paths of operations contain it. */
const prefix = '/v1';

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
    const add = (op: Operation, route: Pick<RouteOptions, 'handler' | 'validatorCompiler'>) =>
      server.route({
        ...routeOf(op, { bodyLimit: gateway.defaults.maxBodyBytes }),
        url: op.path.slice(prefix.length),
        ...route,
      });
    for (const name of ['chat', 'embeddings'] as const)
      add(openAiApi[name], {
        // The gateway parses the bytes itself; the schema is documentation.
        validatorCompiler: () => () => true,
        handler: (request, reply) => complete(name, dependencies, request, reply),
      });
    add(openAiApi.models, { handler: async () => ({ object: 'list', data: callableModels(gateway) }) });
    add(openAiApi.model, { handler: async (request) => callableModel(gateway, request) });
  };
  void root.register(plugin, { prefix });
}

async function complete(
  operation: 'chat' | 'embeddings',
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

function callableModel(gateway: GatewayService, request: FastifyRequest) {
  const name = (request.params as { readonly '*': string })['*'];
  const model = callableModels(gateway).find(({ id }) => id === name);
  if (model) return model;
  throw new GatewayError(
    'GATEWAY_MODEL_NOT_FOUND',
    `There is no callable model "${name}". GET /v1/models lists all.`,
  );
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
