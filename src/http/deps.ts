// Dependencies of the HTTP server; the composition root provides them.
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
import type {
  DeadLetter,
  ExtractionSource,
  ItemRecord,
  RunService,
  SourceService,
  TypeRecord,
  VersionRecord,
} from '../extraction/index.ts';
import type { Gateway } from '../gateway/index.ts';
import type { KnowledgeAlert, KnowledgeServices } from '../knowledge/index.ts';
import type { LedgerEntry, LedgerFilter } from '../ledger/index.ts';
import type {
  Activity,
  BackupService,
  DashboardFiles,
  DoctorReport,
  ReadinessReport,
} from '../operations/index.ts';
import type {
  Alert,
  DeploymentService,
  ExecutionStarter,
  ExecutionService,
  LimitAdministration,
  OrganizationService,
  ApiKeyService,
} from '../tenancy/index.ts';
import type { Sessions } from './dashboard/session.ts';
import type { HttpEvents } from './events.ts';
import type { HttpLimits } from './limits.ts';

export interface Access {
  /** Must take the same time for every wrong token: see createTokenCheck. */
  isAdminToken(token: string): boolean;
  /** The id of the gateway key this is; null for any other text, and for keys that have expired or were revoked. */
  gatewayKeyOf(credential: string): string | null;
  /** Of a gateway key that is known but refused: why, for the one who holds it. */
  gatewayKeyRefusal(credential: string): 'expired' | 'revoked' | null;
  /** The id of the organization whose key this is; null for any other text, and for keys that are refused. */
  organizationOf(credential: string): string | null;
  /** Of an organization's key that is known but refused: why, for the one who holds it. */
  organizationKeyRefusal(credential: string): 'expired' | 'revoked' | null;
}

export interface AuditRow {
  readonly at: Date;
  /** `admin`, or the organization's id; never a credential. */
  readonly actor: string;
  /** The route's operation id. */
  readonly action: string;
  /** The path's parameters, or `null` where it has none. */
  readonly subject: string | null;
  readonly outcome: 'done' | 'refused' | 'failed';
  readonly status: number;
  readonly requestId: string;
}

export interface AuditTrail {
  record(row: AuditRow): Promise<void>;
  /** Newest first; `before` is the id of the last row seen. */
  list(filter: {
    readonly limit: number;
    readonly before?: string;
  }): Promise<readonly (AuditRecord & { readonly id: string })[]>;
}

/** A row as it is kept: what did not come by HTTP has no status and no request. */
export type AuditRecord = Omit<AuditRow, 'status' | 'requestId'> & {
  readonly status: number | null;
  readonly requestId: string | null;
};

export interface LedgerService {
  list(filter: LedgerFilter): Promise<readonly LedgerEntry[]>;
  get(id: string): Promise<LedgerEntry | null>;
  counts(): Promise<readonly { readonly kind: string; readonly open: number; readonly repaired: number }[]>;
  /** Kinds that have a registered repair, and what it does. */
  repairs(): readonly { readonly kind: string; readonly describe: string }[];
  /** The job that repairs, or `null` when the same is already waiting or running. */
  requestRepair(request: { readonly kind?: string; readonly id?: string }): Promise<string | null>;
  /** Closes the row because a person says that it is settled. */
  resolve(id: string, how: string): Promise<LedgerEntry>;
}

export interface ExtractionService {
  readonly sources: Pick<SourceService, 'list' | 'get' | 'add' | 'change' | 'remove'>;
  readonly runs: Pick<RunService, 'start' | 'stop' | 'list' | 'get' | 'report' | 'nextRunAt'>;
  readonly vaults: VaultService;
  /** How often a source may be asked, its own setting or the server's. */
  callsPerMinuteOf(source: ExtractionSource): number;
}

export type GatewayService = Pick<
  Gateway,
  'defaults' | 'parseRequest' | 'complete' | 'load' | 'models' | 'keys'
>;

/** What needs attention, of every domain. */
export interface AlertService {
  list(): readonly (Alert | KnowledgeAlert)[];
}

/** Organizations, their deployments and executions, and their limits. */
export interface TenantServices {
  readonly organizations: Pick<OrganizationService, 'find' | 'list' | 'create' | 'rename' | 'delete'>;
  readonly keys: Pick<ApiKeyService, 'create' | 'list' | 'revoke' | 'authenticate'>;
  readonly deployments: Pick<
    DeploymentService,
    'list' | 'get' | 'find' | 'create' | 'update' | 'delete' | 'warnings' | 'signingSecret'
  >;
  readonly starter: Pick<ExecutionStarter, 'uploads' | 'maxWaitMs' | 'resolveDeployment' | 'begin'>;
  readonly executions: Pick<ExecutionService, 'get' | 'getOf' | 'list' | 'whenEnded' | 'stop' | 'release'>;
  readonly limits: LimitAdministration;
  readonly alerts: AlertService;
  /** Requests queued for a slot in this server. */
  queued(): number;
}

export interface ConfigValue {
  /** `server.port`. */
  readonly name: string;
  /** Anything that JSON can say; what stands here for a secret is never shown. */
  readonly value: unknown;
  readonly source: 'flag' | 'env' | 'file' | 'default';
  /** The flag, variable or file it came from. */
  readonly sourceName: string | null;
  readonly isSecret: boolean;
}

export interface Presence {
  /** Counts one more client until the returned function is called. */
  attach(): () => void;
  /** True when this process will make room for a server that was asked for. */
  requestHandover(): boolean;
}

/** Tokens of links that log in to the dashboard. */
export interface Logins {
  create(): Promise<{ readonly token: string; readonly expiresAt: Date }>;
  /** True once for a token that was made here, within its time. */
  use(token: string): Promise<boolean>;
}

export interface McpRequest {
  readonly caller: 'admin' | 'organization';
  /** The bearer token that the caller came with. */
  readonly credential: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly signal: AbortSignal;
}

/** Speaks MCP; whatever tools do, they ask this API for it, with the caller's own credentials. */
export interface McpHandler {
  /** `body` is JSON, or empty. */
  answer(request: McpRequest): Promise<{ readonly status: number; readonly body: string }>;
}

export interface DashboardDeps {
  /** Null when it was not built. */
  readonly files: DashboardFiles | null;
  readonly logins: Logins;
  readonly sessions: Sessions;
}

export interface ServerDeps {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly redactor: Redactor;
  readonly log: Log;
  /** None when nobody wants traces. */
  readonly tracer?: Tracer;
  readonly events: Emitter<HttpEvents>;
  /** Everything that happens, for the live stream. */
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
  configView(): readonly ConfigValue[];
  readonly audit: AuditTrail;
  readonly jobs: Pick<JobQueue, 'get' | 'list' | 'counts' | 'retry' | 'cancel'>;
  readonly ledger: LedgerService;
  readonly extraction: ExtractionService;
  readonly gateway: GatewayService;
  readonly tenants: TenantServices;
  readonly knowledge: KnowledgeServices;
  readonly activity: Activity;
  readonly dashboard: DashboardDeps;
  readonly mcp: McpHandler;
  readonly presence: Presence;
  /** The name or address that `listen` is given. */
  readonly boundHost: string;
  /** Further names in Host headers, with or without port. */
  readonly allowedHosts: readonly string[];
  /** Further origins of web pages, as `https://app.example.com`. */
  readonly allowedOrigins: readonly string[];
  readonly limits?: Partial<HttpLimits>;
}

export interface VaultService {
  /** All fail with NOT_FOUND when the run is not known, or its vault is not on this machine. */
  summary(run: string): Promise<{
    readonly types: readonly TypeRecord[];
    /** Pages that did not come, each once, newest first, at most 200. */
    readonly deadLetters: readonly DeadLetter[];
  }>;
  /** In the order of their ids. */
  items(
    run: string,
    query: { readonly type: string; readonly after: string; readonly limit: number },
  ): Promise<readonly ItemRecord[]>;
  item(
    run: string,
    type: string,
    id: string,
  ): Promise<{ readonly item: ItemRecord; readonly versions: readonly VersionRecord[] }>;
  /** JSON text, indented; null for a version in which the item was gone. */
  data(run: string, type: string, id: string, version: number | null): Promise<string | null>;
}
