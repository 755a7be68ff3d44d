// Makes fastify routes of API operations.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchemaCompiler,
  RawServerDefault,
  RouteShorthandOptions,
} from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import type { $ZodType } from 'zod/v4/core';
import { safeParse } from 'zod/v4/core';
import { ErrorResponse } from '../api/fields.ts';
import type { Camel, DomainValue } from '../api/names.ts';
import { fromWire, toWire } from '../api/names.ts';
import type { Operation, OutputOf, RawOutput, ResourceApi } from '../api/operation.ts';
import { zodErrorMessage } from '../core/index.ts';
import type { Caller } from './access.ts';
import { clientAbortSignal } from './lifecycle.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The response stays open: it has no time limit and ends when the server drains. */
    isStream?: boolean;
  }
}

export type TypedServer = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** Reads one item more than the page holds: it shows whether there is a next page. */
export async function pageOf<Item>(
  limit: number,
  read: (limit: number) => Promise<readonly Item[]>,
  cursorOf: (item: Item) => string = (item) => (item as { readonly id: string }).id,
): Promise<{ readonly items: readonly Item[]; readonly next: string | null }> {
  const found = await read(limit + 1);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, next: found.length > limit && last !== undefined ? cursorOf(last) : null };
}

type Parsed<Schema> = Schema extends z.ZodType ? Camel<z.output<Schema>> : never;

/** What a handler receives: input checked by the schemas, in camelCase. */
export interface HandlerInput<Op extends Operation> {
  readonly params: Parsed<NonNullable<Op['params']>>;
  readonly query: Parsed<Op['query']>;
  readonly body: Parsed<Op['body']>;
  /** Null on public routes. */
  readonly caller: Caller | null;
  readonly request: FastifyRequest;
  /** For another status or headers; a handler that sends the response itself returns it. */
  readonly reply: FastifyReply;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

export type Handler<Op extends Operation> = (input: HandlerInput<Op>) => Promise<Returned<Op> | FastifyReply>;

/** With status 204 (output null) the result is ignored. */
type Returned<Op extends Operation> = Op['output'] extends RawOutput
  ? never
  : OutputOf<Op> extends null
    ? unknown
    : DomainValue<OutputOf<Op>>;

/** One handler for every operation of a resource. */
export type Handlers<Api extends ResourceApi> = { readonly [Name in keyof Api]: Handler<Api[Name]> };

export type RouteOverrides = Pick<RouteShorthandOptions, 'bodyLimit' | 'handlerTimeout'> & {
  /** A stricter body schema, for checks that need the domain. */
  readonly body?: z.ZodType;
  readonly access?: Operation['access'];
};

/** Adds a route for every operation. */
export function implement<Api extends ResourceApi>(
  server: TypedServer,
  api: Api,
  handlers: Handlers<Api>,
  overrides: { readonly [Name in keyof Api]?: RouteOverrides } = {},
): void {
  for (const [name, op] of Object.entries(api))
    addRoute(server, op, handlers[name as keyof Api], overrides[name] ?? {});
}

const responsesOf = (op: Operation): Record<number, z.ZodType | RawOutput> => ({
  [op.status]: op.output,
  ...op.otherResponses,
});

/** The route of an operation without its handler: access, audit and documentation. */
export function routeOf(
  op: Operation,
  { body = op.body, access = op.access, ...limits }: RouteOverrides = {},
) {
  return {
    method: op.method,
    url: op.path,
    // A HEAD request would open the stream, too.
    ...(op.isStream && op.method === 'GET' ? { exposeHeadRoute: false } : {}),
    ...limits,
    config: {
      access,
      audit: op.audit,
      isStream: op.isStream,
      nulAllowedIn: op.nulAllowedIn,
      isServedWhileDraining: op.isServedWhileDraining,
    },
    schema: {
      operationId: op.id,
      tags: [op.tag],
      summary: op.summary,
      description: op.description,
      querystring: op.query,
      // Fastify warns of parts that are there but undefined.
      ...(op.params ? { params: op.params } : {}),
      ...(op.headers ? { headers: op.headers } : {}),
      ...(op.method === 'GET' ? {} : { body }),
      response: { ...responsesOf(op), ...(op.errors ?? errorResponses) },
    },
  };
}

function addRoute(
  server: TypedServer,
  op: Operation,
  handler: Handler<Operation>,
  overrides: RouteOverrides,
): void {
  const responses = responsesOf(op);
  server.route({
    ...routeOf(op, overrides),
    handler: async (request, reply) => {
      void reply.code(op.status);
      const result = await handler({
        params: fromWire(op.params ?? op.query, request.params),
        query: fromWire(op.query, request.query),
        body: fromWire(op.body, request.body),
        caller: request.caller,
        request,
        reply,
        get signal() {
          return clientAbortSignal(reply.raw);
        },
      });
      // A reply is thenable: a handler that sent the response itself resolves to undefined once it has ended.
      if (reply.sent || reply.raw.headersSent) return reply;
      const schema = responses[reply.statusCode];
      if (reply.statusCode === 204) return reply.send(null);
      return reply.send(isRaw(schema) ? result : toWire(schema, result));
    },
  });
}

const isRaw = (output: z.ZodType | RawOutput | undefined): output is RawOutput | undefined =>
  output === undefined || 'content' in output;

const errorResponses = { '4xx': ErrorResponse, '5xx': ErrorResponse } as const;

/** Documented routes need an operation id (it names audit rows), a summary and response schemas. */
export function installRouteRules(server: FastifyInstance, handlerTimeoutMs: number): void {
  const operations = new Map<string, string>();
  server.addHook('onRoute', (route) => {
    // A time limit would abort streams.
    if (!route.config?.isStream) route.handlerTimeout ??= handlerTimeoutMs;
    if (route.schema?.hide || route.method === 'HEAD') return;
    const label = `${String(route.method)} ${route.url}`;
    const { operationId, summary, response } = route.schema ?? {};
    if (!operationId || !summary || !response)
      throw new TypeError(`The route ${label} lacks an operationId, a summary or its responses (schema).`);
    const other = operations.get(operationId);
    if (other !== undefined && other !== label)
      throw new TypeError(`The routes ${other} and ${label} have the same operationId ${operationId}.`);
    operations.set(operationId, label);
  });
}

/** For fastify's setValidatorCompiler. Messages of the schema itself come first. */
export const validatorCompiler: FastifySchemaCompiler<$ZodType> =
  ({ schema }) =>
  (data: unknown) => {
    const { data: value, error } = safeParse(schema, data, { error: zodErrorMessage });
    if (!error) return { value };
    return {
      // As fastify expects them; its types demand an Error.
      error: error.issues.map(({ code, path, message, ...params }) => ({
        keyword: code,
        instancePath: `/${path.join('/')}`,
        schemaPath: '',
        message,
        params,
      })) as unknown as Error,
    };
  };
