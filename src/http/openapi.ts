// The OpenAPI document and the page that shows it, all from this process: nothing is loaded from elsewhere.
import { STATUS_CODES } from 'node:http';
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import fastify from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';

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

/** A named schema becomes a mere reference, which loses its description; a response without one shows its status. */
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
