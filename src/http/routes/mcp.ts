// The Model Context Protocol over streamable HTTP.
import type { FastifyRequest } from 'fastify';
import { mcpApi } from '../../api/server.ts';
import { CoreError } from '../../core/index.ts';
import type { ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement } from '../implement.ts';
import { clientAbortSignal } from '../lifecycle.ts';
import type { HttpLimits } from '../limits.ts';
import { documentBodyBytes } from '../limits.ts';

/** What tools call of this API has the usual time limit; reporting that it was exceeded takes a little more. */
const reportingMs = 5_000;

export function mcpRoutes(server: TypedServer, { mcp, knowledge }: ServerDeps, limits: HttpLimits): void {
  implement(
    server,
    mcpApi,
    {
      call: async ({ request, reply }) => {
        const { status, body } = await mcp.answer({
          caller: kindOf(request),
          credential: credentialOf(request),
          headers: protocolHeaders(request),
          body: request.body,
          signal: clientAbortSignal(reply.raw, server.traffic),
        });
        // As text: it is JSON already.
        return reply.code(status).type('application/json; charset=utf-8').serializer(String).send(body);
      },
    },
    {
      call: {
        bodyLimit: documentBodyBytes(knowledge.artifacts.maxDocumentBytes),
        handlerTimeout: limits.handlerTimeoutMs + reportingMs,
      },
    },
  );
}

function kindOf({ caller }: Pick<FastifyRequest, 'caller'>): 'admin' | 'organization' {
  return caller?.kind === 'organization' ? 'organization' : 'admin';
}

/** Not the dashboard's cookie: tools cannot use it. */
function credentialOf({ headers }: Pick<FastifyRequest, 'headers'>): string {
  const credential = headers.authorization?.replace(/^bearer +/i, '');
  if (credential === undefined)
    throw new CoreError('UNAUTHENTICATED', 'Send a key or the admin token in the Authorization header.');
  return credential;
}

/** The headers that the protocol reads. */
function protocolHeaders({ headers }: Pick<FastifyRequest, 'headers'>): Readonly<Record<string, string>> {
  const names = ['accept', 'content-type', 'mcp-protocol-version'] as const;
  return Object.fromEntries(
    names.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]]] : [])),
  );
}
