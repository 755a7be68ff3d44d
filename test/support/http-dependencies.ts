// The dependencies of the HTTP server in memory, and what they recorded.
import { MemoryRunStore, MemorySourceStore } from './extraction/memory-stores.ts';
import { Readable } from 'node:stream';
import type { EmittedEvent, IdSource, JobView, LogFields } from '../../src/core/index.ts';
import {
  CoreError,
  EventBus,
  Redactor,
  event,
  noTracer,
  seededIds,
  seededRandom,
  silentLog,
} from '../../src/core/index.ts';
import { VirtualClock } from './core/virtual-clock.ts';
import { RunService, SourceService, runEvents } from '../../src/extraction/index.ts';
import { GatewayError } from '../../src/gateway/index.ts';
import type { ServerDeps } from '../../src/http/index.ts';
import type { ExtractionService } from '../../src/http/deps.ts';
import type { GatewayService } from '../../src/http/deps.ts';
import { createTokenCheck, DashboardSessions, httpEvents } from '../../src/http/index.ts';
import { ledgerEvents } from '../../src/ledger/index.ts';
import { MemoryLedgerStore } from './ledger/memory-ledger-store.ts';
import { Activity } from '../../src/operations/activity.ts';
import type { AuditEntry } from '../../src/operations/audit.ts';
import { emptyKnowledgeServices } from './knowledge-services.ts';
import { emptyTenantServices } from './tenancy/tenant-services.ts';

export const adminToken = 'test-admin-token-0123456789';
export const organizationKey = 'test-organization-key-0123456789';
/** This key is valid without being created. */
export const gatewayKey = 'hwk_test-gateway-key-0123456789';
export const asAdmin = { authorization: `Bearer ${adminToken}` } as const;

/** An event with a content field, for the live stream. */
export const testEvents = {
  'test:happened': event<{ thingId: string; text: string }>({
    level: 'info',
    message: 'something happened',
    content: ['text'],
  }),
} as const;

export interface TestDeps {
  readonly dependencies: ServerDeps;
  readonly clock: VirtualClock;
  readonly redactor: Redactor;
  readonly bus: EventBus<typeof httpEvents & typeof ledgerEvents & typeof testEvents>;
  readonly emitted: EmittedEvent[];
  readonly logged: { readonly message: string; readonly fields: LogFields | undefined }[];
  readonly auditRows: AuditEntry[];
  readonly ledgerStore: MemoryLedgerStore;
  readonly jobViews: Map<string, JobView>;
  readonly repairs: unknown[];
  readonly attached: { count: number };
}

/** `overrides` replaces what the test is about; of `access` only the given parts. */
export function createTestDeps(
  overrides: Partial<Omit<ServerDeps, 'access'>> & { readonly access?: Partial<ServerDeps['access']> } = {},
): TestDeps {
  const clock = new VirtualClock(Date.parse('2026-03-01T12:00:00Z'));
  const ids = seededIds(seededRandom(1), () => clock.now());
  const redactor = new Redactor();
  redactor.add(adminToken);
  const bus = new EventBus({ ...httpEvents, ...ledgerEvents, ...testEvents });
  const emitted: EmittedEvent[] = [];
  bus.listen((event) => void emitted.push(event));
  const logged: { message: string; fields: LogFields | undefined }[] = [];
  const log = {
    ...silentLog,
    error: (message: string, fields?: LogFields) => void logged.push({ message, fields }),
  };
  const auditRows: AuditEntry[] = [];
  const ledgerStore = new MemoryLedgerStore(ids);
  const jobViews = new Map<string, JobView>();
  const repairs: unknown[] = [];
  const attached = { count: 0 };

  const { access: _access, ...change } = overrides;
  const dependencies: ServerDeps = {
    clock,
    ids,
    redactor,
    log,
    events: bus,
    liveEvents: bus,
    tracer: noTracer,
    version: '1.2.3',
    instanceId: 'instance-a',
    access: {
      isAdminToken: createTokenCheck(adminToken),
      gatewayKeys: {
        checkKey: (credential) =>
          credential === gatewayKey ? { kind: 'valid', key: { id: 'key-1' } } : null,
      },
      organizationKeys: organizationKeysOf({ [organizationKey]: 'organization-1' }),
      sessions: new DashboardSessions(adminToken, clock, ids),
      ...overrides.access,
    },
    metricsAccess: 'admin',
    metrics: { contentType: 'text/plain; version=0.0.4; charset=utf-8', text: async () => 'up 1\n' },
    readiness: async () => ({ status: 'ready', dependencies: [], capabilities: [], alerts: [] }),
    doctor: async () => ({ checks: [] }),
    backup: { open: () => Readable.from(['backup']) },
    configView: () => ({ file: null, options: [], warnings: [] }),
    audit: {
      record: async (row) => void auditRows.unshift({ details: {}, ...row, id: ids.uuid() }),
      list: async (page) =>
        auditRows.filter(({ id }) => page?.before === undefined || id < page.before).slice(0, page?.limit),
    },
    jobs: {
      ...jobQueueOf(jobViews),
      enqueue: async (_job, payload) => {
        repairs.push(payload);
        return ids.uuid();
      },
    },
    ledger: {
      store: ledgerStore,
      repairs: {
        list: () => [
          { kind: 'demo.broken', describe: 'Does it again.', repair: async () => ({ outcome: 'repaired' }) },
        ],
      },
      runner: { check: async () => undefined },
    },
    extraction: extractionServices(clock, ids),
    gateway: silentGateway,
    tenants: emptyTenantServices,
    knowledge: emptyKnowledgeServices,
    alerts: async () => [],
    activity: new Activity(clock),
    dashboard: {
      files: null,
      logins: memoryLogins(clock, ids),
    },
    mcp: async () => ({ status: 200, body: '{}' }),
    presence: {
      attach() {
        attached.count += 1;
        return () => void (attached.count -= 1);
      },
      requestHandover: () => false,
    },
    boundHost: '127.0.0.1',
    allowedHosts: [],
    allowedOrigins: [],
    ...change,
  };
  return {
    dependencies,
    clock,
    redactor,
    bus,
    emitted,
    logged,
    auditRows,
    ledgerStore,
    jobViews,
    repairs,
    attached,
  };
}

/** Valid keys by organization id. */
export const organizationKeysOf = (
  organizations: Readonly<Record<string, string>>,
): ServerDeps['access']['organizationKeys'] => ({
  check: (credential) => {
    const organizationId = organizations[credential];
    return organizationId === undefined ? null : { kind: 'valid', key: { organizationId } };
  },
});

export function jobView(change: Partial<JobView> & Pick<JobView, 'id'>): JobView {
  return {
    name: 'ledger.repair',
    state: 'failed',
    payload: {},
    attempts: 1,
    createdAt: new Date('2026-03-01T11:00:00Z'),
    startedAt: new Date('2026-03-01T11:00:01Z'),
    finishedAt: new Date('2026-03-01T11:00:02Z'),
    startAfter: null,
    progress: null,
    reason: 'it broke',
    result: null,
    ...change,
  };
}

/** Has no model and no key; tests of the gateway provide a real one. */
const silentGateway: GatewayService = {
  defaults: { maxBodyBytes: 1_000_000, deadlineMs: 1_000, waitMs: 0 },
  parseRequest: () => {
    throw new CoreError('INPUT_INVALID', 'This gateway reads nothing.');
  },
  complete: () => Promise.reject(new CoreError('NOT_FOUND', 'This gateway is silent.')),
  start: (_request, _options, onResult) => {
    onResult(Promise.reject(new CoreError('NOT_FOUND', 'This gateway is silent.')));
    return undefined;
  },
  countTokens: () => Promise.reject(new CoreError('NOT_FOUND', 'This gateway is silent.')),
  responses: {
    expand: () => Promise.reject(new CoreError('NOT_FOUND', 'This gateway is silent.')),
    capture: () => Promise.reject(new CoreError('NOT_FOUND', 'This gateway is silent.')),
    get: () => Promise.reject(new CoreError('NOT_FOUND', 'This gateway is silent.')),
    delete: () => Promise.reject(new CoreError('NOT_FOUND', 'This gateway is silent.')),
  },
  load: () => ({ inFlight: 0, queued: 0 }),
  models: {
    names: async () => new Map(),
    listCallable: () => [],
    listAliases: () => [],
    callableStates: async () => [],
    list: async () => [],
    get: unknownModel,
    add: unknownModel,
    replace: unknownModel,
    remove: unknownModel,
    setActive: unknownModel,
    setAvailability: unknownModel,
    increment: unknownModel,
    explain: unknownModel,
    history: unknownModel,
    probe: async () => [],
  },
  discovery: { discover: async () => [], list: async () => [] },
  keys: {
    create: () => Promise.reject(new CoreError('NOT_FOUND', 'This gateway makes no keys.')),
    list: async () => [],
    revoke: unknownKey,
    setLimits: unknownKey,
    usage: async () => [],
  },
  requests: {
    list: async () => ({ requests: [], next: null }),
    get: () => Promise.reject(new GatewayError('GATEWAY_REQUEST_NOT_FOUND', 'This gateway logs nothing.')),
  },
};

function unknownKey(id: string): Promise<never> {
  return Promise.reject(new GatewayError('GATEWAY_KEY_NOT_FOUND', `There is no key ${id}.`));
}

function unknownModel(): Promise<never> {
  return Promise.reject(new GatewayError('GATEWAY_MODEL_NOT_FOUND', 'This gateway has no model.'));
}

/** Sources and runs in memory; the job of a run is never executed. */
function extractionServices(clock: VirtualClock, ids: IdSource): ExtractionService {
  const sources = new MemorySourceStore();
  const runs = new MemoryRunStore();
  const noVault = async () => Promise.reject(new CoreError('NOT_FOUND', 'There is no such vault.'));
  return {
    vaults: { summary: noVault, items: noVault, item: noVault, data: noVault },
    callsPerMinuteOf: () => 100,
    sources: new SourceService({ sources, runs, clock, ids, problems: () => [] }),
    runs: new RunService({
      sources,
      runs,
      inTransaction: (work) => work(undefined),
      jobs: { enqueue: async () => ids.uuid(), cancel: async () => true, get: async () => null },
      clock,
      ids,
      events: new EventBus(runEvents),
      redact: (text) => text,
    }),
  };
}

/** The part of a queue that routes use. */
function jobQueueOf(views: Map<string, JobView>): Omit<ServerDeps['jobs'], 'enqueue'> {
  const move = (id: string, from: readonly string[], to: JobView['state']): boolean => {
    const view = views.get(id);
    if (!view || !from.includes(view.state)) return false;
    views.set(id, { ...view, state: to });
    return true;
  };
  return {
    get: async (id) => views.get(id) ?? null,
    list: async ({ name, states, limit } = {}) =>
      [...views.values()]
        .filter((view) => name === undefined || view.name === name)
        .filter((view) => states?.includes(view.state) ?? true)
        .slice(0, limit),
    counts: async () =>
      [...Map.groupBy(views.values(), ({ name, state }) => `${name} ${state}`).values()].map((same) => ({
        name: same[0]?.name ?? '',
        state: same[0]?.state ?? 'queued',
        count: same.length,
      })),
    retry: async (id) => move(id, ['failed'], 'queued'),
    cancel: async (id) => move(id, ['queued', 'running'], 'canceled'),
  };
}

function memoryLogins(clock: VirtualClock, ids: IdSource): ServerDeps['dashboard']['logins'] {
  const expiry = new Map<string, number>();
  return {
    create: async () => {
      const token = ids.token(32);
      const expiresAt = new Date(clock.now() + 600_000);
      expiry.set(token, expiresAt.getTime());
      return { token, expiresAt };
    },
    use: async (token) => {
      const until = expiry.get(token);
      expiry.delete(token);
      return until !== undefined && until > clock.now();
    },
  };
}
