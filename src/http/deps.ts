// Dependencies of the HTTP server; the composition root provides them.
import type { DomainValue } from '../api/names.ts';
import type { OutputOf } from '../api/operation.ts';
import type { serverApi } from '../api/server.ts';
import type {
  Clock,
  Emitter,
  EventBus,
  EventSpecs,
  IdSource,
  JobQueue,
  Log,
  Redactor,
  Tracer,
} from '../core/index.ts';
import type { ExtractionSource, RunService, SourceService, VaultService } from '../extraction/index.ts';
import type { Gateway } from '../gateway/index.ts';
import type { KnowledgeServices } from '../knowledge/index.ts';
import type { LedgerEvents, LedgerStore, RepairRegistry, RepairRunner } from '../ledger/index.ts';
import type {
  Activity,
  Alert,
  AuditTrail,
  BackupService,
  DashboardFiles,
  DashboardLogins,
  DoctorReport,
  ReadinessReport,
} from '../operations/index.ts';
import type {
  ApiKeyService,
  DeploymentService,
  ExecutionService,
  ExecutionStarter,
  LimitAdministration,
  OrganizationService,
} from '../tenancy/index.ts';
import type { Access } from './access.ts';
import type { HttpEvents } from './events.ts';
import type { StreamLimits } from './streams.ts';

export interface HttpLimits extends StreamLimits {
  /** Largest request body that is read. */
  readonly bodyLimitBytes: number;
  /** Longest time for the request's headers to arrive: slow senders of headers hold a socket no longer. */
  readonly headersTimeoutMs: number;
  /** Longest time for the whole request to arrive. */
  readonly requestTimeoutMs: number;
  /** How long an idle connection is kept. */
  readonly keepAliveTimeoutMs: number;
  /** Longest time from the request to the response; streams have no limit. */
  readonly handlerTimeoutMs: number;
  /** Longest wait for an audit row before the response is sent without it. */
  readonly auditTimeoutMs: number;
  /** Concurrent knowledge requests with the keys of one organization. */
  readonly organizationConcurrency: number;
}

/** One implementation: extraction; tests of http pass their own. */
export interface ExtractionService {
  readonly sources: Pick<SourceService, 'list' | 'get' | 'add' | 'change' | 'remove'>;
  readonly runs: Pick<RunService, 'start' | 'stop' | 'list' | 'get' | 'report' | 'nextRunAt'>;
  readonly vaults: VaultService;
  /** Rate limit of a source, its own setting or the server's. */
  callsPerMinuteOf(source: ExtractionSource): number;
}

export type GatewayService = Pick<
  Gateway,
  | 'defaults'
  | 'parseRequest'
  | 'complete'
  | 'start'
  | 'countTokens'
  | 'responses'
  | 'load'
  | 'models'
  | 'discovery'
  | 'keys'
  | 'requests'
>;

/** Organizations, their deployments and executions, and their limits. One implementation: tenancy; tests of http pass their own. */
export interface TenantServices {
  readonly organizations: Pick<OrganizationService, 'find' | 'list' | 'create' | 'rename' | 'delete'>;
  readonly keys: Pick<ApiKeyService, 'create' | 'list' | 'revoke' | 'check'>;
  readonly deployments: Pick<
    DeploymentService,
    'list' | 'get' | 'find' | 'create' | 'update' | 'delete' | 'warnings' | 'signingSecret'
  >;
  readonly starter: Pick<ExecutionStarter, 'uploads' | 'maxWaitMs' | 'resolveDeployment' | 'begin'>;
  readonly executions: Pick<ExecutionService, 'get' | 'getOf' | 'list' | 'whenEnded' | 'cancel' | 'release'>;
  readonly limits: LimitAdministration;
  /** Requests queued for a slot in this server. */
  queued(): number;
}

export interface McpRequest {
  readonly caller: 'admin' | 'organization';
  /** The caller's bearer token: tools call this API with it. */
  readonly credential: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly signal: AbortSignal;
}

export interface ServerDeps {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly redactor: Redactor;
  readonly log: Log;
  /** `noTracer` when tracing is disabled. */
  readonly tracer: Tracer;
  readonly events: Emitter<HttpEvents & LedgerEvents>;
  /** Every event of the process, for the live stream. */
  readonly liveEvents: Pick<EventBus<EventSpecs>, 'listen'>;
  readonly version: string;
  /** Changes with every start. */
  readonly instanceId: string;
  readonly access: Access;
  readonly metricsAccess: 'public' | 'admin';
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  readiness(): Promise<ReadinessReport>;
  doctor(): Promise<DoctorReport>;
  readonly backup: Pick<BackupService, 'open'>;
  /** Secrets masked. */
  configView(): DomainValue<OutputOf<typeof serverApi.getConfig>>;
  readonly audit: Pick<AuditTrail, 'record' | 'list'>;
  readonly jobs: Pick<JobQueue, 'get' | 'list' | 'counts' | 'retry' | 'cancel' | 'enqueue'>;
  readonly ledger: {
    readonly store: LedgerStore;
    readonly repairs: Pick<RepairRegistry, 'list'>;
    readonly runner: Pick<RepairRunner, 'check'>;
  };
  readonly extraction: ExtractionService;
  readonly gateway: GatewayService;
  readonly tenants: TenantServices;
  readonly knowledge: KnowledgeServices;
  /** Pending and firing alerts of every domain. */
  alerts(): Promise<readonly Alert[]>;
  readonly activity: Activity;
  readonly dashboard: {
    /** Null when it was not built. */
    readonly files: DashboardFiles | null;
    readonly logins: Pick<DashboardLogins, 'create' | 'use'>;
  };
  /** Handles a message of the Model Context Protocol; `body` is JSON, or empty. */
  readonly mcp: (request: McpRequest) => Promise<{ readonly status: number; readonly body: string }>;
  readonly presence: {
    /** Counts one more client until the returned function is called. */
    attach(): () => void;
    /** True when this process stops in favor of the server that requested it. */
    requestHandover(): boolean;
  };
  /** The name or address that `listen` is given. */
  readonly boundHost: string;
  /** Further names in Host headers, with or without port. */
  readonly allowedHosts: readonly string[];
  /** Further origins of web pages, as `https://app.example.com`. */
  readonly allowedOrigins: readonly string[];
  readonly limits?: Partial<HttpLimits>;
}

/** What a process needs that serves only the gateway's routes. */
export type GatewayServerDeps = Pick<
  ServerDeps,
  | 'clock'
  | 'ids'
  | 'redactor'
  | 'log'
  | 'tracer'
  | 'events'
  | 'version'
  | 'access'
  | 'audit'
  | 'gateway'
  | 'boundHost'
  | 'allowedHosts'
  | 'allowedOrigins'
  | 'limits'
>;
