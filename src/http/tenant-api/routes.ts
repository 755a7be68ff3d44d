// The tenant API: executes deployments. The only part of the HTTP API whose concurrent requests are limited.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { CoreError, linkSignals } from '../../core/index.ts';
import type { DeploymentRef, Execution, ExecutionInput, PendingExecution } from '../../tenancy/index.ts';
import type { ServerDeps } from '../deps.ts';
import { installNotFound } from '../guards.ts';
import type { TypedServer } from '../implement.ts';
import { clientAbortSignal } from '../lifecycle.ts';
import { sendTenantError } from './error-response.ts';
import { bodyKindOf, readInput } from './request-body.ts';
import {
  deploymentParams,
  executeHeaders,
  executeQuery,
  executionQuery,
  executionState,
  tenantErrorResponses,
  timeoutSeconds,
  viewOfExecutionState,
} from './schemas.ts';
import type { UploadShare } from './upload-memory.ts';
import { UploadMemory } from './upload-memory.ts';

const tags = ['deployments'];
const path = '/:org/:api';
const access = 'organization';
/** For a slot and for the result. */
const maxWaitsMs = 2 * 300_000;
const marginMs = 60_000;

type Params = z.infer<typeof deploymentParams>;

export function tenantRoutes(root: TypedServer, dependencies: ServerDeps): void {
  const { starter, executions } = dependencies.tenants;
  const memory = new UploadMemory(starter.uploads.maxUploadMemoryBytes);
  // A plugin of its own: errors, also of unknown paths, have another shape, and bodies are received by ourselves.
  const plugin = async (scope: FastifyInstance): Promise<void> => {
    const server = scope.withTypeProvider<ZodTypeProvider>();
    server.setErrorHandler((error, request, reply) => sendTenantError(error, request, reply, dependencies));
    installNotFound(scope);
    server.removeAllContentTypeParsers();
    server.addContentTypeParser('*', (_request, _payload, done) => done(null));

    server.post(
      path,
      {
        config: { access, readsBodyItself: true },
        handlerTimeout: starter.uploads.timeoutMs + maxWaitsMs + marginMs,
        schema: {
          operationId: 'deployment-api.execute',
          tags,
          summary: 'Execute a deployment with files (form) or JSON',
          description: executeDescription,
          params: deploymentParams,
          querystring: executeQuery,
          headers: executeHeaders,
          response: { 200: executionState, ...tenantErrorResponses },
        },
      },
      async (request, reply) =>
        viewOfExecutionState(await execute(dependencies, memory, request as ExecuteRequest, reply)),
    );

    server.get(
      path,
      {
        config: { access },
        schema: {
          operationId: 'deployment-api.get-execution',
          tags,
          summary: 'Get an execution with its result',
          params: deploymentParams,
          querystring: executionQuery,
          response: { 200: executionState, ...tenantErrorResponses },
        },
      },
      async (request) => {
        const deployment = starter.resolveDeployment(deploymentRefOf(request));
        return viewOfExecutionState(await executions.getOf(deployment, request.query.execution_id));
      },
    );

    server.delete(
      path,
      {
        config: { access },
        schema: {
          operationId: 'deployment-api.stop-execution',
          tags,
          summary: 'Stop an execution; an ended one is returned unchanged',
          params: deploymentParams,
          querystring: executionQuery,
          response: { 200: executionState, ...tenantErrorResponses },
        },
      },
      async (request) => {
        const deployment = starter.resolveDeployment(deploymentRefOf(request));
        const { executionId } = await executions.getOf(deployment, request.query.execution_id);
        return viewOfExecutionState(await executions.stop(executionId));
      },
    );
  };
  void root.register(plugin, { prefix: '/deployment/api' });
}

const executeDescription =
  'The body is a form (`multipart/form-data`) with files and fields, or one JSON object; which fields apply depends on ' +
  'the workflow of the deployment. At the limit of concurrent requests of the organization, or of all organizations, the ' +
  'response is 429 with `Retry-After`.';

type ExecuteRequest = FastifyRequest & {
  readonly params: Params;
  readonly query: z.infer<typeof executeQuery>;
};

function deploymentRefOf({ params, caller }: FastifyRequest): DeploymentRef {
  if (caller?.kind !== 'organization')
    throw new CoreError('FORBIDDEN', 'This requires an API key of an organization.');
  const { org, api } = params as Params;
  return { organization: org, deployment: api, callerOrganizationId: caller.organizationId };
}

/** The slot comes before the body. After the commit the slot belongs to the execution, whatever the caller does. */
async function execute(
  { tenants: { starter, executions }, clock }: ServerDeps,
  memory: UploadMemory,
  request: ExecuteRequest,
  reply: FastifyReply,
): Promise<Execution> {
  const { draining } = request.server.traffic;
  const kind = bodyKindOf(request.raw, starter.uploads);
  const disconnected = clientAbortSignal(reply.raw);
  const waiting = linkSignals(disconnected, draining);
  try {
    const { wait } = request.query;
    const pending = await starter
      .begin({
        ...deploymentRefOf(request),
        idempotencyKey: keyOf(request),
        waitMs: wait === undefined ? undefined : wait * 1_000,
        signal: waiting.signal,
      })
      .catch((error: unknown) => {
        if (draining.aborted && !disconnected.aborted) throw draining.reason;
        throw error;
      });
    const read = (share: UploadShare): Promise<ExecutionInput> => {
      if (request.headers.expect !== undefined) reply.raw.writeContinue();
      const receiving = { clock, limits: starter.uploads, memory: share, signal: disconnected };
      return readInput(kind, request.raw, receiving);
    };
    const { execution, timeout } = await commit(pending, request, memory, read, disconnected);
    if (timeout <= 0 || execution.endedAt !== null) return execution;
    return await executions
      .whenEnded(execution.executionId, timeout * 1_000, waiting.signal)
      .catch((error: unknown) => {
        // It is accepted: after an error the caller would send it again, and it would run twice.
        if (error instanceof CoreError && error.code === 'STATE_UNAVAILABLE') return execution;
        throw error;
      });
  } finally {
    waiting.dispose();
  }
}

/** On every path the memory is released, and so is the slot of a request that was not accepted. */
async function commit(
  pending: PendingExecution,
  { query, headers }: ExecuteRequest,
  memory: UploadMemory,
  read: (share: UploadShare) => Promise<ExecutionInput>,
  disconnected: AbortSignal,
): Promise<{ readonly execution: Execution; readonly timeout: number }> {
  try {
    using share = memory.open(Number(headers['content-length'] ?? 0));
    const { input, timeout } = withoutTimeout(await read(share));
    const seconds = onlyTimeout(timeout, query.timeout) ?? -1;
    return { execution: await pending.commit(input, disconnected), timeout: seconds };
  } finally {
    // Does nothing after the commit.
    await pending.cancel();
  }
}

function keyOf({ headers }: FastifyRequest): string | null {
  const key = headers['idempotency-key'];
  return typeof key === 'string' ? key : null;
}

/** How long to wait for the result is not a parameter of the workflow. */
function withoutTimeout({ parameters, files }: ExecutionInput): {
  readonly input: ExecutionInput;
  readonly timeout: number | undefined;
} {
  const { timeout, ...rest } = parameters;
  if (timeout === undefined) return { input: { parameters: rest, files }, timeout: undefined };
  const { data, error } = timeoutSeconds.safeParse(timeout);
  if (error === undefined) return { input: { parameters: rest, files }, timeout: data };
  throw invalidTimeout(error.issues[0]?.message ?? 'is invalid');
}

/** Sent in the body and in the query it must be the same. */
function onlyTimeout(inBody: number | undefined, inQuery: number | undefined): number | undefined {
  if (inBody !== undefined && inQuery !== undefined && inBody !== inQuery)
    throw invalidTimeout(`is ${inBody} in the body and ${inQuery} in the query; send it once`);
  return inBody ?? inQuery;
}

const invalidTimeout = (problem: string): CoreError =>
  new CoreError('INPUT_INVALID', `"timeout" ${problem}.`, { details: { field: 'timeout' } });
