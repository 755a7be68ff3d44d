// The tenant API: executes deployments. The only part of the HTTP API whose concurrent requests are limited.
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import type { Operation } from '../../api/operation.ts';
import type { TenantExecution } from '../../api/tenant.ts';
import { tenantApi, timeoutSeconds } from '../../api/tenant.ts';
import { CoreError, linkSignals } from '../../core/index.ts';
import type { DeploymentRef, Execution, PendingExecution } from '../../tenancy/index.ts';
import { toTenantView } from '../../tenancy/index.ts';
import type { ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { routeOf } from '../implement.ts';
import { clientAbortSignal } from '../lifecycle.ts';
import type { BodyKind, Receiving } from './request-body.ts';
import { bodyKindOf, readInput, UploadMemory } from './request-body.ts';

/** The prefix of the plugin; paths of operations contain it. */
const prefix = '/deployment/api';
/** Longest waits for a slot and for the result together. */
const maxWaitsMs = 2 * 300_000;
const marginMs = 60_000;

export function tenantRoutes(root: TypedServer, dependencies: ServerDeps): void {
  const { starter, executions } = dependencies.tenants;
  const { maxUploadMemoryBytes, maxBodyBytes, uploadTimeoutSeconds } = starter.uploads;
  // At least one body of the maximum size fits.
  const memory = new UploadMemory(Math.max(maxUploadMemoryBytes, maxBodyBytes));
  const executionOf = (request: FastifyRequest): Promise<Execution> => {
    const { execution_id: id } = request.query as z.output<typeof tenantApi.get.query>;
    return executions.getOf(starter.resolveDeployment(deploymentRefOf(request)), id);
  };
  // A plugin with its own scope, in which bodies are received by the handler.
  const plugin = async (scope: FastifyInstance): Promise<void> => {
    const server = scope.withTypeProvider<ZodTypeProvider>();
    server.removeAllContentTypeParsers();
    server.addContentTypeParser('*', (_request, _payload, done) => done(null));
    const add = (op: Operation, handler: RouteOptions['handler'], deadlineMs?: number) => {
      const route = routeOf(op, deadlineMs === undefined ? {} : { deadlineMs });
      const readsBodyItself = op.method === 'POST';
      server.route({
        ...route,
        url: op.path.slice(prefix.length),
        config: { ...route.config, readsBodyItself },
        handler,
      });
    };
    add(
      tenantApi.execute,
      async (request, reply) => viewOf(await execute(dependencies, memory, request as ExecuteRequest, reply)),
      uploadTimeoutSeconds * 1_000 + maxWaitsMs + marginMs,
    );
    add(tenantApi.get, async (request) => viewOf(await executionOf(request)));
    add(tenantApi.cancel, async (request) => {
      const { executionId } = await executionOf(request);
      return viewOf(await executions.cancel(executionId));
    });
  };
  void root.register(plugin, { prefix });
}

/** An execution with ids in its URL: names may change. */
function viewOf(execution: Execution): z.output<typeof TenantExecution> {
  const { executionId, organizationId, deploymentId, status, result, failure, warnings } =
    toTenantView(execution);
  return {
    execution_id: executionId,
    status,
    status_api: `${prefix}/${organizationId}/${deploymentId}?execution_id=${executionId}`,
    result: result ?? null,
    ...(failure ? { error: { code: failure.code, message: failure.message } } : {}),
    ...(warnings.length > 0 ? { warnings: [...warnings] } : {}),
  };
}

type ExecuteRequest = FastifyRequest & {
  readonly query: z.output<typeof tenantApi.execute.query>;
};

function deploymentRefOf({ params, caller }: FastifyRequest): DeploymentRef {
  if (caller?.kind !== 'organization')
    throw new CoreError('FORBIDDEN', 'This requires an API key of an organization.');
  const { org, api } = params as { readonly org: string; readonly api: string };
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
  const limits = starter.uploads;
  const kind = bodyKindOf(request.raw, limits);
  const disconnected = clientAbortSignal(reply);
  const waiting = linkSignals(disconnected, draining);
  try {
    const { wait } = request.query;
    const key = request.headers['idempotency-key'];
    const pending = await starter
      .begin({
        ...deploymentRefOf(request),
        idempotencyKey: typeof key === 'string' ? key : null,
        waitMs: wait === undefined ? undefined : wait * 1_000,
        signal: waiting.signal,
      })
      .catch((error: unknown) => {
        if (draining.aborted && !disconnected.aborted) throw draining.reason;
        throw error;
      });
    const receiving = { clock, limits, signal: disconnected };
    const { execution, timeout } = await commit(pending, kind, request, reply, receiving, memory);
    if (timeout <= 0 || execution.finishedAt !== null) return execution;
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
  kind: BodyKind,
  { query, headers, raw }: ExecuteRequest,
  reply: FastifyReply,
  receiving: Omit<Receiving, 'memory'>,
  memory: UploadMemory,
): Promise<{ readonly execution: Execution; readonly timeout: number }> {
  try {
    using share = memory.open(Number(headers['content-length'] ?? 0));
    if (headers.expect !== undefined) reply.raw.writeContinue();
    const { parameters: fields, files } = await readInput(kind, raw, { ...receiving, memory: share });
    // How long to wait for the result is not a parameter of the workflow.
    const { timeout: inBody, ...parameters } = fields;
    const timeout = timeoutOf(inBody, query.timeout);
    return { execution: await pending.commit({ parameters, files }, receiving.signal), timeout };
  } finally {
    // Does nothing after the commit.
    await pending.cancel();
  }
}

/** In seconds. Sent in the body and in the query it must be the same. */
function timeoutOf(inBody: unknown, inQuery: number | undefined): number {
  if (inBody === undefined) return inQuery ?? -1;
  const { data, error } = timeoutSeconds.safeParse(inBody);
  if (data !== undefined && (inQuery ?? data) === data) return data;
  const problem =
    error?.issues[0]?.message ?? `is ${data} in the body and ${inQuery} in the query; send it once`;
  throw new CoreError('INPUT_INVALID', `"timeout" ${problem}.`, { details: { field: 'timeout' } });
}
