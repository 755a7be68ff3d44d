// The door: who may come in, with a slot, and what becomes of a request that does. Nothing leaves a slot behind.
import type { Clock, Emitter, IdSource } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import { asSentence } from '../as-sentence.ts';
import type {
  DeploymentDesk,
  Door,
  DoorAddress,
  DoorRequest,
  Entry,
  OrganizationDesk,
  UploadLimits,
} from '../desk-ports.ts';
import { DeploymentError } from '../errors.ts';
import type {
  Deployment,
  Execution,
  ExecutionInput,
  ExecutionStore,
  Workflow,
  WorkflowName,
} from '../ports.ts';
import type { AdmissionController } from '../admission/index.ts';
import type { ExecutionEvents } from './events.ts';
import { isTooDeep } from './is-too-deep.ts';
import { requestHash } from './request-hash.ts';
import { storeDeadlineMs, withinDeadline } from './store-deadline.ts';

export interface DoorParts {
  readonly organizations: Pick<OrganizationDesk, 'find'>;
  readonly deployments: Pick<DeploymentDesk, 'find'>;
  readonly store: Pick<ExecutionStore, 'dispatch' | 'byIdempotencyKey'>;
  readonly slots: Pick<AdmissionController, 'acquire' | 'detach' | 'release'>;
  readonly workflowOf: (name: WorkflowName) => Workflow;
  /** Adds the execution's job to the transaction; its id. */
  readonly enqueue: (executionId: string, transaction: unknown) => Promise<string>;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly events: Emitter<ExecutionEvents>;
  readonly uploads: UploadLimits;
  readonly longestWaitMs: number;
}

export class DeploymentDoor implements Door {
  readonly uploads: UploadLimits;
  readonly longestWaitMs: number;
  readonly #parts: DoorParts;

  constructor(parts: DoorParts) {
    this.uploads = parts.uploads;
    this.longestWaitMs = parts.longestWaitMs;
    this.#parts = parts;
  }

  deploymentAt({ organization, deployment, callerOrganizationId }: DoorAddress): Deployment {
    try {
      const { id } = this.#parts.organizations.find(organization);
      if (id === callerOrganizationId) return this.#parts.deployments.find(id, deployment);
    } catch (error) {
      if (!(error instanceof CoreError) || error.code !== 'NOT_FOUND') throw error;
    }
    // The same words whatever is the matter: nobody learns which organizations and APIs others have.
    throw new CoreError(
      'NOT_FOUND',
      'There is no such API for this key. Check the organization and the name of the API in the address.',
    );
  }

  async enter(request: DoorRequest): Promise<Entry> {
    const deployment = this.deploymentAt(request);
    this.#checkUsable(deployment);
    const waitMs = this.#waitMs(request, deployment);
    const known = await this.#known(deployment, request);
    if (known) return entryOfKnown(known, deployment);
    const slot = { organizationId: deployment.organizationId, executionId: this.#parts.ids.uuid() };
    await this.#parts.slots.acquire({ ...slot, workload: deployment.id, waitMs, signal: request.signal });
    return new NewEntry(this.#parts, deployment, slot.executionId, request.idempotencyKey);
  }

  #checkUsable({ name, workflow, isActive }: Deployment): void {
    if (!isActive)
      throw new DeploymentError('DEPLOYMENT_INACTIVE', `The API ${name} is switched off at the moment.`);
    const { unavailable } = this.#parts.workflowOf(workflow);
    if (unavailable !== null)
      throw new DeploymentError('DEPLOYMENT_WORKFLOW_UNAVAILABLE', asSentence(unavailable));
  }

  #waitMs({ waitMs }: DoorRequest, { waitSeconds }: Deployment): number {
    if (waitMs === undefined) return Math.min(waitSeconds * 1_000, this.longestWaitMs);
    if (waitMs >= 0 && waitMs <= this.longestWaitMs) return waitMs;
    throw new CoreError('INPUT_INVALID', `"wait" must be from 0 to ${this.longestWaitMs / 1_000} seconds.`, {
      details: { field: 'wait' },
    });
  }

  /** The only question to the state store before there is a slot, and only for who sent a key. */
  async #known({ id }: Deployment, request: DoorRequest): Promise<Execution | null> {
    const { idempotencyKey: key, signal } = request;
    if (key === null) return null;
    const { store, clock } = this.#parts;
    return withinDeadline(clock, storeDeadlineMs, signal, (within) =>
      store.byIdempotencyKey(id, key, within),
    );
  }
}

/** A request that came before: it has its execution, and needs no slot. */
function entryOfKnown(known: Execution, deployment: Deployment): Entry {
  return {
    executionId: known.executionId,
    deployment,
    accept: async (input) => sameRequest(known, requestHash(checkedDepth(input))),
    leave: async () => undefined,
  };
}

/** open → accepted | left: whoever ends it first decides what becomes of the slot, once. */
class NewEntry implements Entry {
  readonly executionId: string;
  readonly deployment: Deployment;
  readonly #parts: DoorParts;
  readonly #idempotencyKey: string | null;
  #isOpen = true;

  constructor(parts: DoorParts, deployment: Deployment, executionId: string, idempotencyKey: string | null) {
    this.#parts = parts;
    this.deployment = deployment;
    this.executionId = executionId;
    this.#idempotencyKey = idempotencyKey;
  }

  async accept(input: ExecutionInput, signal?: AbortSignal): Promise<Execution> {
    if (!this.#isOpen) throw new CoreError('INTERNAL', 'This request was accepted or given up before.');
    this.#isOpen = false;
    try {
      const hash = requestHash(checkedDepth(input));
      await this.#check(input);
      const { execution, isNew } = await this.#dispatch(input, hash, signal);
      if (!isNew) {
        await this.#release();
        return sameRequest(execution, hash);
      }
      this.#parts.slots.detach(this.#slot);
      return execution;
    } catch (error) {
      await this.#release();
      throw error;
    }
  }

  async leave(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#release();
  }

  get #slot() {
    return { organizationId: this.deployment.organizationId, executionId: this.executionId };
  }

  #hasReleased = false;
  async #release(): Promise<void> {
    if (this.#hasReleased) return;
    this.#hasReleased = true;
    await this.#parts.slots.release(this.#slot);
  }

  async #check(input: ExecutionInput): Promise<void> {
    const { workflow, options, name } = this.deployment;
    const problems = await this.#parts.workflowOf(workflow).checkInput(options, input);
    if (problems.length === 0) return;
    const list = problems.map(({ field, message }) => `${field}: ${message}`).join('; ');
    throw new DeploymentError(
      'DEPLOYMENT_INPUT_INVALID',
      `The request does not fit the API ${name}. ${asSentence(list)}`,
      {
        details: { problems },
      },
    );
  }

  async #dispatch(input: ExecutionInput, hash: string, caller: AbortSignal | undefined) {
    const { store, clock, events, enqueue } = this.#parts;
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
    const withinMs = storeDeadlineMs + msToWrite(input);
    const dispatched = await withinDeadline(clock, withinMs, caller, (signal) =>
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

/** A second for each mebibyte of files: a store that is that slow works all the same. */
const msToWrite = ({ files }: ExecutionInput): number =>
  (files.reduce((sum, { bytes }) => sum + bytes.byteLength, 0) / 1_048_576) * 1_000;

function sameRequest(known: Execution, hash: string): Execution {
  if (known.requestHash === hash) return known;
  throw new DeploymentError(
    'DEPLOYMENT_IDEMPOTENCY_CONFLICT',
    'This idempotency key was used for another request. Use a new key for a new request.',
  );
}

function checkedDepth(input: ExecutionInput): ExecutionInput {
  if (!isTooDeep(input.parameters)) return input;
  throw new DeploymentError('DEPLOYMENT_INPUT_INVALID', 'The request is nested too deeply.');
}
