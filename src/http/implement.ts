// Makes fastify routes of API operations, and their OpenAPI document with the page that shows it. That page is served by
// this process alone: nothing is loaded from elsewhere.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import swagger from '@fastify/swagger';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchemaCompiler,
  RawServerDefault,
} from 'fastify';
import fastify from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
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
    /** The setting that changes `bodyLimit`; undefined: that of the server. */
    bodyLimitSetting?: string;
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

export interface RouteOverrides {
  readonly bodyLimit?: { readonly bytes: number; readonly setting: string };
  readonly deadlineMs?: number;
  /** A stricter body schema, for checks that need the domain. */
  readonly body?: z.ZodType;
  readonly access?: Operation['access'];
}

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
  { body = op.body, access = op.access, deadlineMs, bodyLimit }: RouteOverrides = {},
) {
  return {
    method: op.method,
    url: op.path,
    // A HEAD request would open the stream, too.
    ...(op.isStream && op.method === 'GET' ? { exposeHeadRoute: false } : {}),
    ...(bodyLimit && { bodyLimit: bodyLimit.bytes }),
    config: {
      access,
      audit: op.audit,
      isStream: op.isStream,
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
      ...(bodyLimit && { bodyLimitSetting: bodyLimit.setting }),
      anyTextIn: op.anyTextIn,
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
          return clientAbortSignal(reply);
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
export function installRouteRules(server: FastifyInstance): void {
  const operations = new Map<string, string>();
  server.addHook('onRoute', (route) => {
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

const docsPath = '/docs';

const introduction = `Operations with a lock require the admin token of this server: *Authorize*, then paste it. It was printed at
the first start and is kept in \`admin-token\` in the data folder.

Every error response has the shape of Error, and every response has the header \`x-request-id\`. Names are snake_case.`;

/** Swagger UI sets style attributes; scripts come from files only. */
const docsPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

type ZodToJson = NonNullable<Parameters<typeof createJsonSchemaTransform>[0]['zodToJsonConfig']>;

/** Leaves out patterns of dates and the range of safe integers. */
const zodToJsonConfig: ZodToJson = {
  override: ({ jsonSchema }) => {
    if (jsonSchema.format === 'date-time' || jsonSchema.format === 'uuid') delete jsonSchema.pattern;
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  },
};
const transformRoute = createJsonSchemaTransform({ zodToJsonConfig });
const addComponents = createJsonSchemaTransformObject({ zodToJsonConfig });

/** Must be registered before the routes: it collects them as they are added. */
export async function installOpenApi(server: FastifyInstance, version: string): Promise<void> {
  await server.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Headworks',
        version,
        description: introduction,
      },
      components: {
        securitySchemes: {
          admin: { type: 'http', scheme: 'bearer', description: 'The admin token of this server.' },
          gateway: {
            type: 'http',
            scheme: 'bearer',
            description: 'A gateway key ("headworks keys create"), or the admin token.',
          },
          organization: { type: 'http', scheme: 'bearer', description: 'A key of an organization.' },
          tenant: {
            type: 'http',
            scheme: 'bearer',
            description: 'A key of an organization, for its own data; or the admin token.',
          },
        },
      },
    },
    transform: (route) => {
      const access = route.route.config?.access;
      const { schema, url } = transformRoute(route);
      const { response, ...rest } = schema ?? {};
      return {
        url,
        schema: {
          ...rest,
          ...(response ? { response: withDescriptions(route.schema?.response, response) } : {}),
          ...(access && access !== 'public' ? { security: [{ [access]: [] }] } : {}),
        },
      };
    },
    transformObject: (document) => withoutUnused(addComponents(document)),
  });
}

/** Swagger UI is loaded on the first request to it, as a server of its own whose responses are passed on. */
export function installDocs(server: FastifyInstance): void {
  let docs: Promise<FastifyInstance> | undefined;
  for (const url of [docsPath, `${docsPath}/*`])
    server.get(url, { config: { access: 'public' }, schema: { hide: true } }, async (request, reply) => {
      docs ??= buildDocs(server);
      const { statusCode, headers, rawPayload } = await (
        await docs
      ).inject({ method: 'GET', url: request.url, headers: request.headers });
      if (statusCode === 404) return reply.callNotFound();
      const { connection: _, ...kept } = headers;
      return reply.code(statusCode).headers(kept).send(rawPayload);
    });
}

async function buildDocs(server: FastifyInstance): Promise<FastifyInstance> {
  const { default: swaggerUi } = await import('@fastify/swagger-ui');
  const docs = fastify({ logger: false });
  await docs.register(swagger, { mode: 'static', specification: { document: server.swagger() as never } });
  await docs.register(swaggerUi, {
    routePrefix: docsPath,
    staticCSP: docsPolicy,
    // The bar at the top is for opening other documents.
    theme: { title: 'Headworks API', css: [{ filename: 'theme.css', content: '.topbar { display: none }' }] },
    uiConfig: { docExpansion: 'list', deepLinking: true, tryItOutEnabled: true },
  });
  return docs;
}

/** Every named schema occurs twice, as output and as input; unused ones are removed. */
function withoutUnused<Document extends object>(document: Document): Document {
  const { components } = document as { components?: { schemas?: Record<string, unknown> } };
  const schemas = Object.entries(components?.schemas ?? {});
  const text = JSON.stringify(document);
  const used = schemas.filter(([name]) => text.includes(`"#/components/schemas/${name}"`));
  const kept = { ...document, components: { ...components, schemas: Object.fromEntries(used) } };
  return used.length === schemas.length ? kept : withoutUnused(kept);
}

/** A named schema becomes a reference and loses its description; a response without a description shows its status. */
function withDescriptions(responses: unknown, references: unknown): Record<string, unknown> {
  const described = responses as Record<string, { readonly description?: string }>;
  return Object.fromEntries(
    Object.entries(references as Record<string, object>).map(([status, schema]) => {
      const description = described[status]?.description ?? STATUS_CODES[status] ?? status;
      return [
        status,
        '$ref' in schema
          ? { description, content: { 'application/json': { schema } } }
          : { description, ...schema },
      ];
    }),
  );
}
