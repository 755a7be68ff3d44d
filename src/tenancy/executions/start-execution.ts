// Accepts requests to deployments: deployment, slot, input, commit. No path leaves a slot behind.
import { createHash } from 'node:crypto';
import type { Clock, Emitter, IdSource } from '../../core/index.ts';
import { CoreError, linkSignals, withTimeout } from '../../core/index.ts';
import type { AdmissionController } from '../admission/index.ts';
import type { DeploymentService } from '../deployments/deployments.ts';
import type { Deployment } from '../types.ts';
import { DeploymentError } from '../errors.ts';
import type { ExecutionEvents } from '../events.ts';
import { asSentence, isTooDeep } from '../names.ts';
import type { OrganizationService } from '../organizations/organizations.ts';
import type { WorkflowName } from '../vocabulary.ts';
import type { Workflow } from '../workflows/workflow.ts';
import { storeTimeout, storeTimeoutMs } from './executions.ts';
import type { Execution, ExecutionInput, ExecutionStore } from './types.ts';

/** A deployment as a request names it. */
export interface DeploymentRef {
  /** Id or name. */
  readonly organization: string;
  /** Name or id. */
  readonly deployment: string;
  /** The organization whose key the request has. */
  readonly callerOrganizationId: string;
}

export interface StartRequest extends DeploymentRef {
  readonly idempotencyKey: string | null;
  /** Longest time in the queue for a slot; undefined: as the deployment says. */
  readonly waitMs: number | undefined;
  readonly signal: AbortSignal;
}

/** Limits of a request's body. */
export interface UploadLimits {
  readonly maxFiles: number;
  readonly maxFileBytes: number;
  readonly maxBodyBytes: number;
  /** Of all bodies being received; at least one of the largest fits. */
  readonly maxUploadMemoryBytes: number;
  readonly timeoutMs: number;
  /** Over five seconds; 0 for no minimum. */
  readonly minBytesPerSecond: number;
}

/** A request that has a slot. Exactly one of `commit` and `cancel` ends it; `cancel` after `commit` does nothing. */
export interface PendingExecution {
  readonly executionId: string;
  readonly deployment: Deployment;
  /**
   * Validates the input and dispatches the execution; releases the slot when that fails. Nothing is dispatched after the
   * signal aborts. Fails with STATE_UNAVAILABLE when the store does not reply in time; it may have committed then.
   */
  commit(input: ExecutionInput, signal?: AbortSignal): Promise<Execution>;
  cancel(): Promise<void>;
}

export interface ExecutionStarterDeps {
  readonly organizations: Pick<OrganizationService, 'find'>;
  readonly deployments: Pick<DeploymentService, 'find'>;
  readonly store: Pick<ExecutionStore, 'dispatch' | 'byIdempotencyKey'>;
  readonly slots: Pick<AdmissionController, 'acquire' | 'detach' | 'release'>;
  readonly workflowOf: (name: WorkflowName) => Workflow;
  /** Adds the execution's job to the transaction; returns its id. */
  readonly enqueue: (executionId: string, transaction: unknown) => Promise<string>;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly events: Emitter<ExecutionEvents>;
  readonly uploads: UploadLimits;
  readonly maxWaitMs: number;
}

export class ExecutionStarter {
  readonly uploads: UploadLimits;
  /** Longest time in the queue that a request may ask for. */
  readonly maxWaitMs: number;
  readonly #deps: ExecutionStarterDeps;

  constructor(deps: ExecutionStarterDeps) {
    this.uploads = deps.uploads;
    this.maxWaitMs = deps.maxWaitMs;
    this.#deps = deps;
  }

  /** Fails with NOT_FOUND, with one text for what is missing and what belongs to others. */
  resolveDeployment({ organization, deployment, callerOrganizationId }: DeploymentRef): Deployment {
    try {
      const { id } = this.#deps.organizations.find(organization);
      if (id === callerOrganizationId) return this.#deps.deployments.find(id, deployment);
    } catch (error) {
      if (!(error instanceof CoreError) || error.code !== 'NOT_FOUND') throw error;
    }
    // One text for all cases: it must not reveal which organizations and deployments exist.
    throw new CoreError(
      'NOT_FOUND',
      'There is no such API for this key. Check the organization and the name of the API in the URL.',
    );
  }

  /** Deployment first, then the slot. A request with a known idempotency key needs no slot. */
  async begin(request: StartRequest): Promise<PendingExecution> {
    const deployment = this.resolveDeployment(request);
    if (!deployment.isActive)
      throw new DeploymentError('DEPLOYMENT_INACTIVE', `The API ${deployment.name} is disabled.`);
    const waitMs = this.#waitMs(request, deployment);
    const known = await this.#knownExecution(deployment, request);
    if (known) return repeatOf(known, deployment);
    const slot = { organizationId: deployment.organizationId, executionId: this.#deps.ids.uuid() };
    await this.#deps.slots.acquire({ ...slot, workload: deployment.id, waitMs, signal: request.signal });
    return new SlottedExecution(this.#deps, deployment, slot.executionId, request.idempotencyKey);
  }

  #waitMs({ waitMs }: StartRequest, { waitSeconds }: Deployment): number {
    if (waitMs === undefined) return Math.min(waitSeconds * 1_000, this.maxWaitMs);
    if (waitMs >= 0 && waitMs <= this.maxWaitMs) return waitMs;
    throw new CoreError('INPUT_INVALID', `"wait" must be from 0 to ${this.maxWaitMs / 1_000} seconds.`, {
      details: { field: 'wait' },
    });
  }

  /** The only read of the state store before there is a slot, and only with an idempotency key. */
  async #knownExecution({ id }: Deployment, request: StartRequest): Promise<Execution | null> {
    const { idempotencyKey: key, signal } = request;
    if (key === null) return null;
    const { store, clock } = this.#deps;
    return withTimeout((bounded) => store.byIdempotencyKey(id, key, bounded), {
      clock,
      timeoutMs: storeTimeoutMs,
      signal,
      onTimeout: storeTimeout(storeTimeoutMs),
    });
  }
}

/** A repeated request has its execution and needs no slot. */
function repeatOf(known: Execution, deployment: Deployment): PendingExecution {
  return {
    executionId: known.executionId,
    deployment,
    commit: async (input) => checkSameRequest(known, requestHash(checkDepth(input))),
    cancel: async () => undefined,
  };
}

/** pending → committed | canceled: whichever comes first decides about the slot, once. */
class SlottedExecution implements PendingExecution {
  readonly executionId: string;
  readonly deployment: Deployment;
  readonly #deps: ExecutionStarterDeps;
  readonly #idempotencyKey: string | null;
  #isPending = true;
  #hasReleased = false;

  constructor(
    deps: ExecutionStarterDeps,
    deployment: Deployment,
    executionId: string,
    idempotencyKey: string | null,
  ) {
    this.#deps = deps;
    this.deployment = deployment;
    this.executionId = executionId;
    this.#idempotencyKey = idempotencyKey;
  }

  async commit(input: ExecutionInput, signal?: AbortSignal): Promise<Execution> {
    if (!this.#isPending) throw new CoreError('INTERNAL', 'This request was already committed or canceled.');
    this.#isPending = false;
    try {
      const hash = requestHash(checkDepth(input));
      await this.#checkInput(input);
      const { execution, isNew } = await this.#dispatch(input, hash, signal);
      if (!isNew) {
        await this.#release();
        return checkSameRequest(execution, hash);
      }
      this.#deps.slots.detach(this.#slot);
      return execution;
    } catch (error) {
      await this.#release();
      throw error;
    }
  }

  async cancel(): Promise<void> {
    if (!this.#isPending) return;
    this.#isPending = false;
    await this.#release();
  }

  get #slot() {
    return { organizationId: this.deployment.organizationId, executionId: this.executionId };
  }

  async #release(): Promise<void> {
    if (this.#hasReleased) return;
    this.#hasReleased = true;
    await this.#deps.slots.release(this.#slot);
  }

  async #checkInput(input: ExecutionInput): Promise<void> {
    const { workflow, options, name } = this.deployment;
    const problems = await this.#deps.workflowOf(workflow).checkInput(options, input);
    if (problems.length === 0) return;
    const list = problems.map(({ field, message }) => `${field}: ${message}`).join('; ');
    throw new DeploymentError(
      'DEPLOYMENT_INPUT_INVALID',
      `The request does not match the API ${name}. ${asSentence(list)}`,
      { details: { problems } },
    );
  }

  async #dispatch(input: ExecutionInput, hash: string, caller: AbortSignal | undefined) {
    const { store, clock, events, enqueue } = this.#deps;
    const { id: deploymentId, workflow } = this.deployment;
    const execution = {
      ...this.#slot,
      deploymentId,
      status: 'queued',
      idempotencyKey: this.#idempotencyKey,
      requestHash: hash,
      acceptedAt: new Date(clock.now()),
      startedAt: null,
      endedAt: null,
      result: null,
      failure: null,
      warnings: [],
    } as const;
    const withinMs = storeTimeoutMs + writeTimeMs(input);
    const dispatched = await withStoreSignal(clock, withinMs, caller, (signal) =>
      store.dispatch(execution, input, (transaction) => enqueue(this.executionId, transaction), {
        signal,
        withinMs,
      }),
    );
    if (dispatched.isNew)
      events.emit('deployments:execution-accepted', {
        ...this.#slot,
        deploymentId,
        workflow,
        files: input.files.length,
      });
    return dispatched;
  }
}

/**
 * Unlike `withTimeout` it does not stop waiting: on expiry the signal aborts, and the store decides whether a commit has
 * begun that must be waited for.
 */
async function withStoreSignal<T>(
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const linked = linkSignals(signal);
  const cancel = clock.after(timeoutMs, () => linked.abort(storeTimeout(timeoutMs)()));
  try {
    return await run(linked.signal);
  } finally {
    cancel();
    linked.dispose();
  }
}

/** A second per mebibyte of files: a store that is this slow still works. */
const writeTimeMs = ({ files }: ExecutionInput): number =>
  (files.reduce((sum, { bytes }) => sum + bytes.byteLength, 0) / 1_048_576) * 1_000;

/** SHA-256, hexadecimal, of the parameters as they were sent and the files in their order. */
function requestHash({ parameters, files }: ExecutionInput): string {
  const hash = createHash('sha256').update(JSON.stringify(parameters));
  for (const { name, mediaType, bytes } of files) {
    const content = createHash('sha256').update(bytes).digest('hex');
    hash.update(`\n${JSON.stringify([name, mediaType, content])}`);
  }
  return hash.digest('hex');
}

function checkSameRequest(known: Execution, hash: string): Execution {
  if (known.requestHash === hash) return known;
  throw new DeploymentError(
    'DEPLOYMENT_IDEMPOTENCY_CONFLICT',
    'This idempotency key was used for another request. Use a new key for a new request.',
  );
}

function checkDepth(input: ExecutionInput): ExecutionInput {
  if (!isTooDeep(input.parameters)) return input;
  throw new DeploymentError('DEPLOYMENT_INPUT_INVALID', 'The request is nested too deeply.');
}
