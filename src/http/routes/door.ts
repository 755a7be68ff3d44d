// The door to deployments: the only part of the API whose concurrent requests are limited.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { CoreError, linkSignals } from '../../core/index.ts';
import type { DoorAddress, Entry, Execution, ExecutionInput } from '../../tenancy/index.ts';
import { answerDoorError } from '../tenant-api/answer-door-error.ts';
import { bodyKindOf, readInput } from '../tenant-api/read-input.ts';
import type { UploadShare } from '../tenant-api/upload-memory.ts';
import { UploadMemory } from '../tenant-api/upload-memory.ts';
import { installNotFound } from '../not-found.ts';
import { callerSignal } from '../openai/caller-signal.ts';
import type { HttpDependencies } from '../ports.ts';
import {
  doorErrorAnswers,
  doorParams,
  executeHeaders,
  executeQuery,
  executionQuery,
  executionState,
  stateOf,
  timeoutSeconds,
} from '../tenant-api/schemas.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['deployments'];
const path = '/:org/:api';
const access = 'organization';
/** For a slot and for the result. */
const longestWaitsMs = 2 * 300_000;
const marginMs = 60_000;

type Params = z.infer<typeof doorParams>;

export function doorRoutes(root: TypedServer, dependencies: HttpDependencies): void {
  const { door, executions } = dependencies.tenants;
  const memory = new UploadMemory(door.uploads.maxUploadMemoryBytes);
  // A room of its own: here errors have another shape, of unknown paths too, and bodies are read by ourselves.
  const inRoom = async (room: FastifyInstance): Promise<void> => {
    const server = room.withTypeProvider<ZodTypeProvider>();
    server.setErrorHandler((error, request, reply) => answerDoorError(error, request, reply, dependencies));
    installNotFound(room);
    server.removeAllContentTypeParsers();
    server.addContentTypeParser('*', (_request, _payload, done) => done(null));

    server.post(
      path,
      {
        config: { access, readsBodyItself: true },
        handlerTimeout: door.uploads.timeoutMs + longestWaitsMs + marginMs,
        schema: {
          operationId: 'door.execute',
          tags,
          summary: 'Executes a deployment: files as a form, or JSON',
          description: bringWhat,
          params: doorParams,
          querystring: executeQuery,
          headers: executeHeaders,
          response: { 200: executionState, ...doorErrorAnswers },
        },
      },
      async (request, reply) =>
        stateOf(await execute(dependencies, memory, request as ExecuteRequest, reply)),
    );

    server.get(
      path,
      {
        config: { access },
        schema: {
          operationId: 'door.state',
          tags,
          summary: 'The state of an execution, and its result, as often as wanted',
          params: doorParams,
          querystring: executionQuery,
          response: { 200: executionState, ...doorErrorAnswers },
        },
      },
      async (request) => {
        const deployment = door.deploymentAt(addressOf(request));
        return stateOf(await executions.getOf(deployment, request.query.execution_id));
      },
    );

    server.delete(
      path,
      {
        config: { access },
        schema: {
          operationId: 'door.stop',
          tags,
          summary: 'Stops an execution; one that has ended stays as it is',
          params: doorParams,
          querystring: executionQuery,
          response: { 200: executionState, ...doorErrorAnswers },
        },
      },
      async (request) => {
        const deployment = door.deploymentAt(addressOf(request));
        const { executionId } = await executions.getOf(deployment, request.query.execution_id);
        return stateOf(await executions.stop(executionId));
      },
    );
  };
  void root.register(inRoom, { prefix: '/deployment/api' });
}

const bringWhat =
  'A form (`multipart/form-data`) brings files and fields, `application/json` one object; what a deployment reads of ' +
  'it depends on its workflow. While the organization, or all of them together, have as many requests under way as ' +
  'they may, the answer is 429 with `Retry-After`.';

type ExecuteRequest = FastifyRequest & {
  readonly params: Params;
  readonly query: z.infer<typeof executeQuery>;
};

function addressOf({ params, caller }: FastifyRequest): DoorAddress {
  if (caller?.kind !== 'organization')
    throw new CoreError('FORBIDDEN', 'This needs a key of an organization.');
  const { org, api } = params as Params;
  return { organization: org, deployment: api, callerOrganizationId: caller.organizationId };
}

/** A slot first, then the body; from the dispatch on the slot is the execution's, whatever the caller does. */
async function execute(
  { tenants: { door, executions }, clock }: HttpDependencies,
  memory: UploadMemory,
  request: ExecuteRequest,
  reply: FastifyReply,
): Promise<Execution> {
  const { draining } = request.server.traffic;
  const kind = bodyKindOf(request.raw, door.uploads);
  const leaving = callerSignal(reply.raw);
  const patience = linkSignals(leaving, draining);
  try {
    const { wait } = request.query;
    const entry = await door
      .enter({
        ...addressOf(request),
        idempotencyKey: keyOf(request),
        waitMs: wait === undefined ? undefined : wait * 1_000,
        signal: patience.signal,
      })
      .catch((error: unknown) => {
        if (draining.aborted && !leaving.aborted) throw draining.reason;
        throw error;
      });
    const read = (share: UploadShare): Promise<ExecutionInput> => {
      if (request.headers.expect !== undefined) reply.raw.writeContinue();
      const receiving = { clock, limits: door.uploads, memory: share, signal: leaving };
      return readInput(kind, request.raw, receiving);
    };
    const { execution, timeout } = await accept(entry, request, memory, read, leaving);
    if (timeout <= 0 || execution.endedAt !== null) return execution;
    return await executions
      .whenEnded(execution.executionId, timeout * 1_000, patience.signal)
      .catch((error: unknown) => {
        // It is accepted all the same: who heard of a failure would send it again, and have it executed twice.
        if (error instanceof CoreError && error.code === 'STATE_UNAVAILABLE') return execution;
        throw error;
      });
  } finally {
    patience.dispose();
  }
}

/** Whatever becomes of it, the memory is free afterwards, and so is the slot of what was not accepted. */
async function accept(
  entry: Entry,
  { query, headers }: ExecuteRequest,
  memory: UploadMemory,
  read: (share: UploadShare) => Promise<ExecutionInput>,
  leaving: AbortSignal,
): Promise<{ readonly execution: Execution; readonly timeout: number }> {
  try {
    using share = memory.open(Number(headers['content-length'] ?? 0));
    const { input, timeout } = withoutTimeout(await read(share));
    const seconds = theOne(timeout, query.timeout) ?? -1;
    return { execution: await entry.accept(input, leaving), timeout: seconds };
  } finally {
    // After it was accepted this does nothing.
    await entry.leave();
  }
}

function keyOf({ headers }: FastifyRequest): string | null {
  const key = headers['idempotency-key'];
  return typeof key === 'string' ? key : null;
}

/** How long to wait for the answer is no parameter of the workflow. */
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

/** Said in two ways it must be the same: who is to know which was meant? */
function theOne(inBody: number | undefined, inQuery: number | undefined): number | undefined {
  if (inBody !== undefined && inQuery !== undefined && inBody !== inQuery)
    throw invalidTimeout(`is ${inBody} in the body and ${inQuery} in the query: say it once`);
  return inBody ?? inQuery;
}

const invalidTimeout = (problem: string): CoreError =>
  new CoreError('INPUT_INVALID', `"timeout" ${problem}.`, { details: { field: 'timeout' } });
