// Executions in memory, with a workflow that the test provides and counted slots.
import { AdmissionError } from '../../../src/tenancy/index.ts';
import type { Clock, EmittedEvent, HttpTransport, JobQueue } from '../../../src/core/index.ts';
import { CoreError, EventBus, seededIds, seededRandom, silentLog } from '../../../src/core/index.ts';
import type {
  AcquireOptions,
  Deployment,
  Execution,
  Workflow,
  WorkflowTask,
} from '../../../src/tenancy/index.ts';
import type { OpenExecutions } from '../../../src/tenancy/open-tenancy.ts';
import { executionEvents } from '../../../src/tenancy/index.ts';
import { openExecutions } from '../../../src/tenancy/open-tenancy.ts';
import { MemoryExecutionStore } from './memory-execution-store.ts';
import { deploymentOptions } from '../../../src/tenancy/options.ts';
import type { DeploymentOptions } from '../../../src/tenancy/options.ts';
import type { Degradation } from '../../../src/ledger/index.ts';
import { jobEventSpecs } from '../../../src/platform/jobs/events.ts';
import { createMemoryJobQueue } from '../jobs/memory-job-queue.ts';

export const acme = 'org_acme000000000000';
export const other = 'org_other00000000000';

/** A fixed number of slots that records each release. */
export class CountedSlots {
  readonly held = new Set<string>();
  readonly renewedHere = new Set<string>();
  readonly releases: string[] = [];
  limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  async acquire({ executionId, signal }: AcquireOptions): Promise<void> {
    signal.throwIfAborted();
    if (this.held.size >= this.limit)
      throw new AdmissionError('ADMISSION_ORG_LIMIT', 'full', {
        isRetryable: true,
        retryAfterMs: 5_000,
        usage: {
          organization: this.held.size,
          organizationLimit: this.limit,
          global: this.held.size,
          globalLimit: 100,
        },
      });
    this.held.add(executionId);
    this.renewedHere.add(executionId);
  }

  attach({ executionId }: { readonly executionId: string }): void {
    this.renewedHere.add(executionId);
  }

  detach({ executionId }: { readonly executionId: string }): void {
    this.renewedHere.delete(executionId);
  }

  async release({ executionId }: { readonly executionId: string }): Promise<void> {
    this.renewedHere.delete(executionId);
    this.held.delete(executionId);
    this.releases.push(executionId);
  }
}

export function exampleDeployment(change: Partial<Deployment> = {}): Deployment {
  return {
    id: '0195a1b2-0000-7000-8000-00000000000a',
    organizationId: acme,
    name: 'invoices',
    workflow: 'prompt',
    options: {},
    webhookUrl: null,
    waitSeconds: 0,
    isActive: true,
    createdAt: new Date(0),
    modifiedAt: new Date(0),
    ...change,
  };
}

export interface ExecutionWorldOptions {
  readonly clock: Clock;
  readonly slots?: CountedSlots;
  readonly deployments?: readonly Deployment[];
  readonly run?: (task: WorkflowTask) => Promise<unknown>;
  readonly checkInput?: Workflow['checkInput'];
  readonly transport?: HttpTransport;
  readonly store?: MemoryExecutionStore;
  readonly options?: Partial<DeploymentOptions>;
}

export interface ExecutionWorld extends OpenExecutions {
  readonly store: MemoryExecutionStore;
  readonly slots: CountedSlots;
  readonly jobs: JobQueue;
  readonly recorded: Degradation[];
  readonly emitted: EmittedEvent[];
  readonly deployments: Deployment[];
}

const defaults = Object.fromEntries(
  Object.entries(deploymentOptions.fields).map(([name, field]) => [name, field.default]),
) as unknown as DeploymentOptions;

const noTransport: HttpTransport = {
  request: () => Promise.reject(new Error('This test sends nothing.')),
  close: async () => undefined,
};

const neverRun: Workflow = {
  name: 'search',
  checkOptions: async () => [],
  checkInput: async () => [],
  run: () => Promise.reject(new Error('never')),
};

export async function executionWorld(given: ExecutionWorldOptions): Promise<ExecutionWorld> {
  const { clock } = given;
  const random = seededRandom(7);
  const ids = seededIds(random, () => clock.now());
  const events = new EventBus({ ...executionEvents, ...jobEventSpecs });
  const emitted: EmittedEvent[] = [];
  events.listen((event) => void emitted.push(event));
  const slots = given.slots ?? new CountedSlots(20);
  const store = given.store ?? new MemoryExecutionStore();
  const jobs = createMemoryJobQueue({ clock, random, ids, events });
  const recorded: Degradation[] = [];
  const deployments = [...(given.deployments ?? [exampleDeployment()])];
  const find = (found: Deployment | undefined): Deployment => {
    if (!found) throw new CoreError('NOT_FOUND', 'There is no such deployment.');
    return found;
  };
  const prompt: Workflow = {
    name: 'prompt',
    checkOptions: async () => [],
    checkInput: given.checkInput ?? (async () => []),
    run: async (task) => ({ result: (await given.run?.(task)) ?? null, warnings: [] }),
  };
  const open = await openExecutions({
    store,
    organizations: {
      find: (reference) => {
        const id = [acme, other].find((each) => reference === each || reference === each.slice(4, 8));
        if (id === undefined) throw new CoreError('NOT_FOUND', `There is no organization ${reference}.`);
        return { id, name: id.slice(4, 8), createdAt: new Date(0) };
      },
    },
    deployments: {
      find: (organization, reference) =>
        find(
          deployments.find(
            ({ organizationId, name, id }) =>
              organizationId === organization && (name === reference || id === reference),
          ),
        ),
      byId: (id) => deployments.find((each) => each.id === id),
      workflowOf: ({ workflow }) => (workflow === 'prompt' ? prompt : neverRun),
      signingSecret: ({ webhookUrl }) =>
        webhookUrl === null
          ? null
          : `whsec_${Buffer.from('a secret of 32 bytes, more or le').toString('base64')}`,
    },
    slots,
    releaseSlot: async (executionId) => slots.held.delete(executionId),
    jobs,
    ledger: { record: async (row) => void recorded.push(row) },
    transport: given.transport ?? noTransport,
    clock,
    ids,
    events,
    log: silentLog,
    redact: (text) => text,
    options: {
      deployments: { ...defaults, ...given.options },
      admission: { maxWaitSeconds: 60, ttlHours: 6 },
    },
  });
  return { ...open, store, slots, jobs, recorded, emitted, deployments };
}

/** A request, unless the test is about it. */
export const startRequest = {
  organization: 'acme',
  deployment: 'invoices',
  callerOrganizationId: acme,
  idempotencyKey: null,
  waitMs: undefined,
  signal: new AbortController().signal,
} as const;

export const inputOf = (parameters: Readonly<Record<string, unknown>> = {}) => ({ parameters, files: [] });

/** Begins and commits. */
export async function accepted(
  { starter }: Pick<ExecutionWorld, 'starter'>,
  change: Partial<Parameters<ExecutionWorld['starter']['begin']>[0]> = {},
  parameters: Readonly<Record<string, unknown>> = {},
): Promise<Execution> {
  const pending = await starter.begin({ ...startRequest, ...change });
  return pending.commit(inputOf(parameters));
}
