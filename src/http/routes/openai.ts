// OpenAI's API: what unmodified clients call. Bodies come as bytes and go on as bytes.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { CoreError } from '../../core/index.ts';
import { GatewayError } from '../../gateway/index.ts';
import type { Operation } from '../../gateway/index.ts';
import { sendBeforeRest } from '../tenant-api/unread-body.ts';
import { HttpError } from '../errors.ts';
import { installNotFound } from '../not-found.ts';
import { attemptsId } from '../openai/attempts-id.ts';
import { callerSignal } from '../openai/caller-signal.ts';
import { openAiErrorOf } from '../openai/openai-error.ts';
import { parseRoutingHeaders } from '../openai/request-headers.ts';
import { sendCompletion } from '../openai/send-completion.ts';
import type { GatewayDesk, HttpDependencies } from '../ports.ts';
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
import type { Caller } from '../server-types.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['openai'];
/** One row per prompt would bury all others; attempts and usage tell who asked what of whom. */
const speaking = {
  access: 'gateway',
  isStream: true,
  audit: false,
  nulAllowedIn: 'everywhere',
} as const;
const reading = { access: 'gateway' } as const;

export function openAiRoutes(root: TypedServer, dependencies: HttpDependencies): void {
  const { gateway } = dependencies;
  // A room of its own: here errors have another shape, of unknown paths too, and bodies stay bytes.
  const inRoom = async (room: FastifyInstance): Promise<void> => {
    const server = room.withTypeProvider<ZodTypeProvider>();
    server.setErrorHandler((error, request, reply) => answerError(error, request, reply, dependencies));
    installNotFound(room);
    server.removeAllContentTypeParsers();
    server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
      done(null, body),
    );
    const complete = (operation: Operation) => (request: FastifyRequest, reply: FastifyReply) =>
      answer(operation, dependencies, request, reply);

    server.post(
      '/chat/completions',
      {
        config: speaking,
        bodyLimit: gateway.defaults.maxBodyBytes,
        // The gateway reads the bytes itself; this is for the document.
        validatorCompiler: () => () => true,
        schema: {
          operationId: 'openai.chat',
          tags,
          summary: 'A chat completion of the best model that answers, also streamed',
          description: `${whichModel} Everything else goes to the model as it came. ${whoSpoke}`,
          headers: steeringHeaders,
          body: chatBody,
          response: { 200: chatAnswer, ...openAiErrorAnswers },
        },
      },
      complete('chat'),
    );

    server.post(
      '/embeddings',
      {
        config: speaking,
        bodyLimit: gateway.defaults.maxBodyBytes,
        validatorCompiler: () => () => true,
        schema: {
          operationId: 'openai.embeddings',
          tags,
          summary: 'Vectors of texts',
          description: `Falls back only between providers of the very same model: vectors never mix. ${whoSpoke}`,
          headers: steeringHeaders,
          body: embeddingsBody,
          response: { 200: embeddingsAnswer, ...openAiErrorAnswers },
        },
      },
      complete('embeddings'),
    );

    server.get(
      '/models',
      {
        config: reading,
        schema: {
          operationId: 'openai.models',
          tags,
          summary: 'Models that can be asked: active ones that have a key, and "auto"',
          response: { 200: openAiModels, ...openAiErrorAnswers },
        },
      },
      async () => ({ object: 'list' as const, data: listCallable(gateway) }),
    );

    server.get(
      '/models/*',
      {
        config: reading,
        schema: {
          operationId: 'openai.model',
          tags,
          summary: 'One model that can be asked',
          response: { 200: openAiModel, ...openAiErrorAnswers },
        },
      },
      async (request) => {
        const name = (request.params as { readonly '*': string })['*'];
        const model = listCallable(gateway).find(({ id }) => id === name);
        if (model) return model;
        throw new GatewayError(
          'GATEWAY_MODEL_NOT_FOUND',
          `There is no model "${name}" that can be asked. GET /v1/models lists all.`,
        );
      },
    );
  };
  void root.register(inRoom, { prefix: '/v1' });
}

const whichModel =
  '`model` is `auto`, one name (tried first, then the rest), or names separated by commas; ' +
  '`x-headworks-fallback: none` forbids the rest.';
const whoSpoke =
  'The headers `x-headworks-model`, `x-headworks-provider`, `x-headworks-attempts` and `x-headworks-fallback` tell who answered.';

async function answer(
  operation: Operation,
  { gateway, ids, log }: HttpDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const ask = gateway.read(operation, bytesOf(request));
  const steering = parseRoutingHeaders(request.headers, gateway.defaults);
  const completion = await gateway.complete({
    requestId: attemptsId(request, ids),
    ask,
    caller: callerName(request.caller),
    ...steering,
    signal: callerSignal(reply.raw, reply.server.traffic),
  });
  return sendCompletion(reply, completion, log);
}

function bytesOf({ body, headers }: FastifyRequest): Uint8Array {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new HttpError(
      'HTTP_CONTENT_TYPE_UNSUPPORTED',
      'The request body is compressed, which is not read here. Send it as plain JSON, without content-encoding.',
    );
  if (body instanceof Uint8Array && body.byteLength > 0) return body;
  throw new CoreError(
    'INPUT_INVALID',
    'The request has no body. Send JSON with content-type: application/json.',
  );
}

export function callerName(caller: Caller | null): string {
  return caller?.kind === 'gateway' ? `key:${caller.keyId}` : 'admin';
}

function listCallable({ models }: GatewayDesk) {
  const names = models.listCallable().map(({ name, provider, createdAt }) => ({
    id: name,
    object: 'model' as const,
    created: Math.floor(createdAt.getTime() / 1_000),
    owned_by: provider,
  }));
  return [{ id: 'auto', object: 'model' as const, created: 0, owned_by: 'headworks' }, ...names];
}

function answerError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { log, redactor, clock }: HttpDependencies,
): void {
  const { status, headers, body, isUnexpected } = openAiErrorOf(error, request.id);
  if (isUnexpected)
    log.error('a request failed in a way that nobody foresaw', {
      requestId: request.id,
      route: request.routeOptions.url ?? 'unmatched',
      error,
    });
  void reply.code(status).headers(headers).type('application/json; charset=utf-8');
  sendBeforeRest(JSON.stringify(redactor.value(body)), request.raw, reply, clock);
}
