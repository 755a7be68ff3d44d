// Accepts requests to deployments: deployment, slot, input, commit. No path leaves a slot behind.
import { createHash } from 'node:crypto';
import { CoreError, linkSignals, withTimeout } from '../../core/index.ts';
import type { Slot } from '../admission/types.ts';
import { DeploymentError } from '../errors.ts';
import { asSentence, isTooDeep } from '../names.ts';
import type { DeploymentOptions } from '../options.ts';
import type { Deployment } from '../types.ts';
import type { ExecutionDeps } from './executions.ts';
import { storeTimeout, storeTimeoutMs } from './executions.ts';
import type { Execution, ExecutionInput } from './types.ts';

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
  /** Longest time in the queue for a slot; undefined: `waitSeconds` of the deployment. */
  readonly waitMs: number | undefined;
  readonly signal: AbortSignal;
}

/** Limits of a request's body. */
export type UploadLimits = Pick<
  DeploymentOptions,
  | 'maxFiles'
  | 'maxFileBytes'
  | 'maxBodyBytes'
  | 'maxUploadMemoryBytes'
  | 'uploadTimeoutSeconds'
  | 'minUploadBytesPerSecond'
>;

/**
 * A request that has a slot. Exactly one of `commit` and `cancel` ends it; `cancel` after `commit` does nothing.
 * One implementation: the result of `begin`.
 */
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

export class ExecutionStarter {
  readonly uploads: UploadLimits;
  /** Longest time in the queue that a request may set. */
  readonly maxWaitMs: number;
  readonly #deps: ExecutionDeps;
  readonly #enqueue: (slot: Slot, transaction: unknown) => Promise<string>;

  /** `enqueue` adds the execution's job to the transaction and returns its id. */
  constructor(deps: ExecutionDeps, enqueue: (slot: Slot, transaction: unknown) => Promise<string>) {
    this.uploads = deps.options.deployments;
    this.maxWaitMs = deps.options.admission.maxWaitSeconds * 1_000;
    this.#deps = deps;
    this.#enqueue = enqueue;
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
    const { slots, ids } = this.#deps;
    const { idempotencyKey, signal } = request;
    const deployment = this.resolveDeployment(request);
    if (!deployment.isActive)
      throw new DeploymentError('DEPLOYMENT_INACTIVE', `The API ${deployment.name} is disabled.`);
    const waitMs = this.#waitMs(request, deployment);
    const known = await this.#knownExecution(deployment, request);
    if (known)
      return {
        executionId: known.executionId,
        deployment,
        commit: async (input) => checkSameRequest(known, requestHash(input)),
        cancel: async () => undefined,
      };
    const slot = { organizationId: deployment.organizationId, executionId: ids.uuid() };
    await slots.acquire({ ...slot, workload: deployment.id, waitMs, signal });
    // pending → committed | canceled: whichever comes first decides about the slot, once.
    let isPending = true;
    return {
      executionId: slot.executionId,
      deployment,
      commit: async (input, caller) => {
        if (!isPending) throw new CoreError('INTERNAL', 'This request was already committed or canceled.');
        isPending = false;
        let isAccepted = false;
        try {
          const hash = requestHash(input);
          await this.#checkInput(deployment, input);
          const row = { ...slot, deploymentId: deployment.id, idempotencyKey, requestHash: hash };
          const { execution, isNew } = await this.#dispatch(row, input, caller);
          isAccepted = isNew;
          if (!isNew) return checkSameRequest(execution, hash);
          this.#deps.events.emit('deployments:execution-accepted', {
            ...slot,
            deploymentId: deployment.id,
            workflow: deployment.workflow,
            files: input.files.length,
          });
          return execution;
        } finally {
          if (isAccepted) slots.detach(slot);
          else await slots.release(slot);
        }
      },
      cancel: async () => {
        if (!isPending) return;
        isPending = false;
        await slots.release(slot);
      },
    };
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

  async #checkInput(deployment: Deployment, input: ExecutionInput): Promise<void> {
    const workflow = this.#deps.deployments.workflowOf(deployment);
    const problems = await workflow.checkInput(deployment.options, input);
    if (problems.length === 0) return;
    const list = problems.map(({ field, message }) => `${field}: ${message}`).join('; ');
    throw new DeploymentError(
      'DEPLOYMENT_INPUT_INVALID',
      `The request does not match the API ${deployment.name}. ${asSentence(list)}`,
      { details: { problems } },
    );
  }

  /**
   * Unlike `withTimeout` it does not stop waiting: on expiry the signal aborts, and the store decides whether a commit
   * has begun that must be waited for.
   */
  async #dispatch(
    row: Slot & Pick<Execution, 'deploymentId' | 'idempotencyKey' | 'requestHash'>,
    input: ExecutionInput,
    caller: AbortSignal | undefined,
  ) {
    const { store, clock } = this.#deps;
    const execution = {
      ...row,
      status: 'queued',
      acceptedAt: new Date(clock.now()),
      startedAt: null,
      finishedAt: null,
      result: null,
      failure: null,
      warnings: [],
    } as const;
    const withinMs = storeTimeoutMs + writeTimeMs(input);
    const linked = linkSignals(caller);
    const cancelTimer = clock.after(withinMs, () => linked.abort(storeTimeout(withinMs)()));
    try {
      const enqueue = (transaction: unknown) => this.#enqueue(row, transaction);
      return await store.dispatch(execution, input, enqueue, { signal: linked.signal, withinMs });
    } finally {
      cancelTimer();
      linked.dispose();
    }
  }
}

/** A second per mebibyte of files: a store that is this slow still works. */
const writeTimeMs = ({ files }: ExecutionInput): number =>
  (files.reduce((sum, { bytes }) => sum + bytes.byteLength, 0) / 1_048_576) * 1_000;

/** SHA-256, hexadecimal, of the parameters as they were sent and the files in their order. */
function requestHash({ parameters, files }: ExecutionInput): string {
  if (isTooDeep(parameters))
    throw new DeploymentError('DEPLOYMENT_INPUT_INVALID', 'The request is nested too deeply.');
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
