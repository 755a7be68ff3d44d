// The settings of the house itself: where it listens, where it keeps things, how it stops. Domains have their own.
import {
  booleanOption,
  choiceOption,
  cronOption,
  defineOptions,
  listOption,
  numberOption,
  pathOption,
  textOption,
  urlOption,
} from '../core/options.ts';

export const serverOptions = defineOptions({
  section: 'server',
  describe: 'The HTTP server.',
  fields: {
    host: textOption({
      describe: 'Address to listen on. Anything but loopback opens the server to other machines.',
      env: 'HEADWORKS_HOST',
      flag: 'host',
      default: '127.0.0.1',
      allowed: 'a host name or address, without scheme and port',
      pattern: /^[\w.:%-]+$/,
    }),
    port: numberOption({
      describe: 'Port to listen on; 0 takes any free one, as a worker does unless it is told one.',
      env: 'HEADWORKS_PORT',
      flag: 'port',
      default: 8420,
      min: 0,
      max: 65_535,
    }),
    allowedHosts: listOption({
      describe: 'Names under which the server may be called (the Host header), besides its own address.',
      env: 'HEADWORKS_ALLOWED_HOSTS',
      default: [],
      allowed: 'a list of host names, each with or without a port, separated by commas',
      pattern: /^(\[[\da-f:.]+\]|[a-z\d._-]+)(:\d{1,5})?$/i,
    }),
    allowedOrigins: listOption({
      describe: 'Web pages that may call the server from a browser (the Origin header), besides its own.',
      env: 'HEADWORKS_ALLOWED_ORIGINS',
      default: [],
      allowed: 'a list of origins like https://app.example.com, separated by commas',
      pattern: /^https?:\/\/[^/\s?#@]+$/i,
    }),
    adminToken: textOption({
      describe: 'What admins, and commands that talk to a server elsewhere, identify themselves with.',
      env: 'HEADWORKS_ADMIN_TOKEN',
      default: null,
      defaultText: 'generated at first start and kept in the data folder',
      secret: true,
      allowed: 'at least 16 visible characters without spaces',
      pattern: /^[\u0021-\u007e]{16,}$/,
    }),
    metricsAccess: choiceOption({
      describe: 'Who may read /metrics. "auto": everyone on a loopback address, admins otherwise.',
      env: 'HEADWORKS_METRICS_ACCESS',
      default: 'auto',
      choices: ['auto', 'public', 'admin'],
    }),
    bodyLimitBytes: numberOption({
      describe: 'Largest request body that is read.',
      env: 'HEADWORKS_BODY_LIMIT_BYTES',
      default: 1_048_576,
      min: 1024,
      max: 1_073_741_824,
    }),
    requestTimeoutSeconds: numberOption({
      describe: 'Longest time for a request to arrive completely.',
      env: 'HEADWORKS_REQUEST_TIMEOUT_SECONDS',
      default: 30,
      min: 1,
      max: 3600,
    }),
    drainSeconds: numberOption({
      describe: 'When stopping: how long requests under way may take to finish.',
      env: 'HEADWORKS_DRAIN_SECONDS',
      default: 10,
      min: 0,
      max: 3600,
    }),
  },
});

export const dataOptions = defineOptions({
  section: 'data',
  describe: 'Files on this machine.',
  fields: {
    folder: pathOption({
      describe: 'Folder for the embedded store, vaults, the admin token and the note of the running server.',
      env: 'HEADWORKS_DATA_DIR',
      flag: 'data-dir',
      default: '.headworks',
    }),
  },
});

export const stateOptions = defineOptions({
  section: 'state',
  describe: 'The state store: embedded Postgres in the data folder, or a Postgres server.',
  fields: {
    databaseUrl: urlOption({
      describe: 'A Postgres server, version 15 or newer, instead of the embedded store.',
      env: 'DATABASE_URL',
      default: null,
      defaultText: 'the embedded store',
      secret: true,
      schemes: ['postgres', 'postgresql'],
    }),
    schema: textOption({
      describe: 'Schema that holds our tables; made at first start.',
      env: 'HEADWORKS_DATABASE_SCHEMA',
      default: 'headworks',
      allowed: 'lower-case letters, digits and _, not starting with a digit or pg_, at most 50 characters',
      pattern: /^(?!pg_)[a-z_][a-z0-9_]{0,49}$/,
    }),
    poolSize: numberOption({
      describe: 'Connections to a Postgres server that one process opens at most.',
      env: 'HEADWORKS_DATABASE_POOL_SIZE',
      default: 10,
      min: 2,
      max: 500,
    }),
    statementTimeoutSeconds: numberOption({
      describe: 'A Postgres server stops statements that take longer.',
      env: 'HEADWORKS_DATABASE_STATEMENT_TIMEOUT_SECONDS',
      default: 30,
      min: 1,
      max: 3600,
    }),
  },
});

export const redisOptions = defineOptions({
  section: 'redis',
  describe: 'Redis, needed only when several processes share limits.',
  fields: {
    url: urlOption({
      describe: 'One Redis server, version 6 or newer; not a Redis Cluster.',
      env: 'REDIS_URL',
      default: null,
      defaultText: 'limits are kept in the process',
      secret: true,
      schemes: ['redis', 'rediss'],
    }),
    keyPrefix: textOption({
      describe: 'Put before every key, so that several installations can share one Redis.',
      env: 'HEADWORKS_REDIS_KEY_PREFIX',
      default: '',
      defaultText: 'none',
      allowed: 'letters, digits and . : _ -, at most 64 characters',
      pattern: /^[\w.:-]{1,64}$/,
    }),
    commandTimeoutMs: numberOption({
      describe: 'Longest wait for an answer of Redis.',
      env: 'HEADWORKS_REDIS_COMMAND_TIMEOUT_MS',
      default: 1000,
      min: 10,
      max: 60_000,
    }),
  },
});

export const clientOptions = defineOptions({
  section: 'client',
  describe: 'Commands that talk to a server.',
  fields: {
    serverUrl: urlOption({
      describe: 'A Headworks server elsewhere. Give its admin token as HEADWORKS_ADMIN_TOKEN.',
      env: 'HEADWORKS_URL',
      flag: 'server',
      default: null,
      defaultText: 'the server of the data folder; if none runs, the command becomes one while it needs it',
      schemes: ['http', 'https'],
    }),
    apiKey: textOption({
      describe: 'The key of an organization, for "headworks mcp": models then reach what is its own.',
      env: 'HEADWORKS_API_KEY',
      default: null,
      defaultText: 'the admin token of the server',
      secret: true,
      allowed: 'up to 512 visible characters without spaces',
      pattern: /^[\u0021-\u007e]{1,512}$/,
    }),
  },
});

export const jobsOptions = defineOptions({
  section: 'jobs',
  describe: 'Background work.',
  fields: {
    drainSeconds: numberOption({
      describe:
        'When stopping: how long running jobs may take to finish before they are stopped to run again.',
      env: 'HEADWORKS_JOBS_DRAIN_SECONDS',
      default: 10,
      min: 0,
      max: 3600,
    }),
  },
});

export const loggingOptions = defineOptions({
  section: 'logging',
  describe: 'Log lines.',
  fields: {
    level: choiceOption({
      describe: 'Least severe lines that are written. "debug" also shows content and stack traces.',
      env: 'HEADWORKS_LOG_LEVEL',
      flag: 'log-level',
      default: 'info',
      choices: ['debug', 'info', 'warn', 'error', 'silent'],
    }),
    format: choiceOption({
      describe: 'How lines look. "auto": for people on a terminal, JSON otherwise.',
      env: 'HEADWORKS_LOG_FORMAT',
      flag: 'log-format',
      default: 'auto',
      choices: ['auto', 'json', 'pretty'],
    }),
  },
});

/** With "auto": readable on a terminal, JSON elsewhere. */
export function logFormat(
  { logging }: { readonly logging: { readonly format: 'auto' | 'json' | 'pretty' } },
  isTerminal: boolean,
): 'json' | 'pretty' {
  if (logging.format !== 'auto') return logging.format;
  return isTerminal ? 'pretty' : 'json';
}

export const tracingOptions = defineOptions({
  section: 'tracing',
  describe:
    'Traces through OpenTelemetry, by its standard variables. Nothing is loaded or sent without an endpoint.',
  fields: {
    endpoint: urlOption({
      describe: 'Where a collector takes OTLP over HTTP, as JSON; /v1/traces is added.',
      env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
      default: null,
      defaultText: 'no traces',
      schemes: ['http', 'https'],
    }),
    tracesEndpoint: urlOption({
      describe: 'The same for traces alone, taken as it is.',
      env: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
      default: null,
      defaultText: 'the endpoint above',
      schemes: ['http', 'https'],
    }),
    exporter: textOption({
      describe:
        'Traces are sent if "otlp" is among these; other exporters are said in the log, and left out.',
      env: 'OTEL_TRACES_EXPORTER',
      default: 'otlp',
    }),
    protocol: textOption({
      describe:
        'What the collector speaks. Only http/json is spoken here; another is said in the log, and ignored.',
      env: 'OTEL_EXPORTER_OTLP_PROTOCOL',
      default: 'http/json',
    }),
    headers: textOption({
      describe: 'Headers for the collector, like api-key=secret,tenant=me; percent-encoded.',
      env: 'OTEL_EXPORTER_OTLP_HEADERS',
      default: null,
      defaultText: 'none',
      secret: true,
    }),
    tracesHeaders: textOption({
      describe: 'The same for traces alone; a header of the same name goes before.',
      env: 'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
      default: null,
      defaultText: 'none',
      secret: true,
    }),
    serviceName: textOption({
      describe: 'What this service is called in traces.',
      env: 'OTEL_SERVICE_NAME',
      default: 'headworks',
    }),
    resourceAttributes: textOption({
      describe: 'More about this process, like deployment.environment=test,host.name=a.',
      env: 'OTEL_RESOURCE_ATTRIBUTES',
      default: null,
      defaultText: 'none',
    }),
    sampler: textOption({
      describe:
        'Which traces are kept: always_on, always_off or traceidratio, each also with parentbased_ before it. ' +
        'Another is said in the log, and the default taken.',
      env: 'OTEL_TRACES_SAMPLER',
      default: 'parentbased_always_on',
    }),
    samplerArg: textOption({
      describe: 'Share of traces that samplers with "ratio" keep, 0 to 1.',
      env: 'OTEL_TRACES_SAMPLER_ARG',
      default: '1',
    }),
    isDisabled: booleanOption({
      describe: 'Switches traces off whatever else is set.',
      env: 'OTEL_SDK_DISABLED',
      default: false,
    }),
  },
});

const keptDays = { min: 0, max: 36_500 };

export const retentionOptions = defineOptions({
  section: 'retention',
  describe: 'How long rows are kept that would grow for ever. 0 keeps them for ever.',
  fields: {
    cron: cronOption({
      describe: 'When old rows are deleted (UTC).',
      env: 'HEADWORKS_RETENTION_CRON',
      default: '17 3 * * *',
    }),
    auditDays: numberOption({
      describe: 'Rows of the audit log.',
      env: 'HEADWORKS_RETENTION_AUDIT_DAYS',
      default: 365,
      ...keptDays,
    }),
    ledgerDays: numberOption({
      describe: 'Repaired rows of the ledger; open ones are always kept.',
      env: 'HEADWORKS_RETENTION_LEDGER_DAYS',
      default: 90,
      ...keptDays,
    }),
    jobsDays: numberOption({
      describe: 'Jobs that have ended, failed ones included.',
      env: 'HEADWORKS_RETENTION_JOBS_DAYS',
      default: 30,
      ...keptDays,
    }),
    attemptsDays: numberOption({
      describe: 'Calls to AI models, from which scores are made.',
      env: 'HEADWORKS_RETENTION_ATTEMPTS_DAYS',
      default: 90,
      ...keptDays,
    }),
    usageDays: numberOption({
      describe: 'Days of token usage.',
      env: 'HEADWORKS_RETENTION_USAGE_DAYS',
      default: 400,
      ...keptDays,
    }),
    executionsDays: numberOption({
      describe: 'Executions of deployments that have ended, with their results.',
      env: 'HEADWORKS_RETENTION_EXECUTIONS_DAYS',
      default: 30,
      ...keptDays,
    }),
    executionFilesDays: numberOption({
      describe: 'Files that were sent for executions that have ended.',
      env: 'HEADWORKS_RETENTION_EXECUTION_FILES_DAYS',
      default: 7,
      ...keptDays,
    }),
    extractionRunsDays: numberOption({
      describe: 'Extraction runs that have ended; vaults are always kept.',
      env: 'HEADWORKS_RETENTION_EXTRACTION_RUNS_DAYS',
      default: 90,
      ...keptDays,
    }),
    vaultVersionsDays: numberOption({
      describe:
        'Versions of items in a vault that were replaced so long ago; pruned when an extraction into it is complete.',
      env: 'HEADWORKS_RETENTION_VAULT_VERSIONS_DAYS',
      default: 0,
      ...keptDays,
    }),
    vaultVersionsKeep: numberOption({
      describe: 'So many versions of an item are kept however old they are; the newest always is.',
      env: 'HEADWORKS_RETENTION_VAULT_VERSIONS_KEEP',
      default: 1,
      min: 1,
      max: 1_000_000,
    }),
  },
});
