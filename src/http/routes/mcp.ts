// Models that speak MCP (streamable HTTP), and who these credentials belong to.
import { z } from 'zod';
import type { FastifyRequest } from 'fastify';
import { CoreError } from '../../core/index.ts';
import type { HttpLimits } from '../limits.ts';
import { documentBodyBytes } from '../limits.ts';
import { callerSignal } from '../openai/caller-signal.ts';
import type { HttpDependencies } from '../ports.ts';
import { callerAnswer } from '../schemas/caller.ts';
import { errorAnswers } from '../schemas/error.ts';
import type { TypedServer } from './typed-server.ts';

/** What tools ask of this API has the usual time; telling that it took too long takes a little more. */
const telling = 5_000;
const tags = ['mcp'];

export function mcpRoutes(server: TypedServer, dependencies: HttpDependencies, limits: HttpLimits): void {
  const { mcp, knowledge } = dependencies;

  server.get(
    '/api/v1/caller',
    {
      config: { access: 'tenant' },
      schema: {
        operationId: 'caller.show',
        tags,
        summary: 'Whose credentials these are',
        response: { 200: callerAnswer, ...errorAnswers },
      },
    },
    async (request) => ({
      kind: kindOf(request),
      organization_id: request.caller?.kind === 'organization' ? request.caller.organizationId : null,
    }),
  );

  server.post(
    '/mcp',
    {
      // Every tool asks the API under the caller's own credentials: what it does there leaves the row.
      config: { access: 'tenant', audit: false, nulAllowedIn: 'everywhere' },
      bodyLimit: documentBodyBytes(knowledge.artifacts.maxDocumentBytes),
      handlerTimeout: limits.handlerTimeoutMs + telling,
      schema: {
        operationId: 'mcp',
        tags,
        summary: 'The Model Context Protocol: tools and resources for models',
        description:
          'Streamable HTTP without sessions: every message is a POST of its own, answered in JSON. There is nothing to ' +
          'GET or DELETE. See docs/mcp.md for clients and tools.',
        body: z.unknown().describe('One message of JSON-RPC 2.0.'),
        response: {
          200: z.unknown().describe('The answer, as JSON-RPC 2.0.'),
          202: z.null().describe('Taken; this message has no answer.'),
          ...errorAnswers,
        },
      },
    },
    async (request, reply) => {
      const { status, body } = await mcp.answer({
        caller: kindOf(request),
        credential: credentialOf(request),
        headers: spokenHeaders(request),
        body: request.body,
        signal: callerSignal(reply.raw, server.traffic),
      });
      // As text: it is JSON already.
      return reply
        .code(status as 200)
        .type('application/json; charset=utf-8')
        .serializer(String)
        .send(body);
    },
  );
}

function kindOf({ caller }: Pick<FastifyRequest, 'caller'>): 'admin' | 'organization' {
  return caller?.kind === 'organization' ? 'organization' : 'admin';
}

/** Not the dashboard's cookie: tools could not use it. */
function credentialOf({ headers }: Pick<FastifyRequest, 'headers'>): string {
  const credential = headers.authorization?.replace(/^bearer +/i, '');
  if (credential === undefined)
    throw new CoreError('UNAUTHENTICATED', 'Send a key or the admin token in the Authorization header.');
  return credential;
}

/** Those that the protocol has a say about. */
function spokenHeaders({ headers }: Pick<FastifyRequest, 'headers'>): Readonly<Record<string, string>> {
  const names = ['accept', 'content-type', 'mcp-protocol-version'] as const;
  return Object.fromEntries(
    names.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]]] : [])),
  );
}
