// Options of the server itself: address, stores, logging, retention. Domains have their own.
import {
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
      describe: 'Port to listen on; 0 uses any free port. A worker uses any free port unless it is set.',
      env: 'HEADWORKS_PORT',
      flag: 'port',
      default: 8420,
      min: 0,
      max: 65_535,
    }),
    processes: textOption({
      describe:
        'Processes of "headworks serve": one does everything, the others serve the AI gateway (/v1) at the same address. "auto": as many as cores.',
      env: 'HEADWORKS_PROCESSES',
      flag: 'processes',
      default: '1',
      allowed: 'auto, or a whole number from 1 to 64',
      pattern: /^(?:auto|[1-9]|[1-5]\d|6[0-4])$/,
    }),
    allowedHosts: listOption({
      describe: 'Accepted Host headers, in addition to its own address.',
      env: 'HEADWORKS_ALLOWED_HOSTS',
      default: [],
      allowed: 'a list of host names, each with or without a port, separated by commas',
      pattern: /^(\[[\da-f:.]+\]|[a-z\d._-]+)(:\d{1,5})?$/i,
    }),
    allowedOrigins: listOption({
      describe: 'Accepted Origin headers of browser requests, in addition to its own.',
      env: 'HEADWORKS_ALLOWED_ORIGINS',
      default: [],
      allowed: 'a list of origins like https://app.example.com, separated by commas',
      pattern: /^https?:\/\/[^/\s?#@]+$/i,
    }),
    adminToken: textOption({
      describe: 'Credential of admins, and of commands that use a remote server.',
      env: 'HEADWORKS_ADMIN_TOKEN',
      default: null,
      defaultText: 'generated at first start and stored in the data folder',
      secret: true,
      allowed: 'at least 16 visible characters without spaces',
      pattern: /^[\u0021-\u007e]{16,}$/,
    }),
    metricsAccess: choiceOption({
      describe:
        'Access to /metrics, which names organizations. "admin": with the admin token. "public": without credentials.',
      env: 'HEADWORKS_METRICS_ACCESS',
      default: 'admin',
      choices: ['admin', 'public'],
    }),
    organizationConcurrency: numberOption({
      describe:
        'Concurrent knowledge requests of one organization on one server. Deployments have limits of their own.',
      env: 'HEADWORKS_ORGANIZATION_CONCURRENCY',
      default: 20,
      min: 1,
      max: 10_000,
    }),
    bodyLimitBytes: numberOption({
      describe: 'Largest accepted request body.',
      env: 'HEADWORKS_BODY_LIMIT_BYTES',
      default: 1_048_576,
      min: 1024,
      max: 1_073_741_824,
    }),
    requestTimeoutSeconds: numberOption({
      describe: 'Timeout for receiving a request completely.',
      env: 'HEADWORKS_REQUEST_TIMEOUT_SECONDS',
      default: 30,
      min: 1,
      max: 3600,
    }),
    drainSeconds: numberOption({
      describe: 'When stopping: how long running requests may take to finish.',
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
      describe: 'Folder of the embedded store, vaults, the admin token and server.json.',
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
      describe: 'Schema of the tables; created at first start.',
      env: 'HEADWORKS_DATABASE_SCHEMA',
      default: 'headworks',
      allowed: 'lower-case letters, digits and _, not starting with a digit or pg_, at most 50 characters',
      pattern: /^(?!pg_)[a-z_][a-z0-9_]{0,49}$/,
    }),
    poolSize: numberOption({
      describe: 'Maximum connections to a Postgres server per process.',
      env: 'HEADWORKS_DATABASE_POOL_SIZE',
      default: 10,
      min: 2,
      max: 500,
    }),
    startTimeoutSeconds: numberOption({
      describe:
        'How long "serve" and "worker" wait at their start for a Postgres server that is not available.',
      env: 'HEADWORKS_DATABASE_START_TIMEOUT_SECONDS',
      default: 60,
      min: 0,
      max: 3600,
    }),
    statementTimeoutSeconds: numberOption({
      describe: 'Statement timeout on a Postgres server.',
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
      defaultText: 'limits are counted in the process',
      secret: true,
      schemes: ['redis', 'rediss'],
    }),
    keyPrefix: textOption({
      describe: 'Prefix of every key, so that several installations can share one Redis.',
      env: 'HEADWORKS_REDIS_KEY_PREFIX',
      default: '',
      defaultText: 'none',
      allowed: 'letters, digits and . : _ -, at most 64 characters',
      pattern: /^[\w.:-]{1,64}$/,
    }),
    commandTimeoutMs: numberOption({
      describe: 'Timeout of a Redis command.',
      env: 'HEADWORKS_REDIS_COMMAND_TIMEOUT_MS',
      default: 1000,
      min: 10,
      max: 60_000,
    }),
  },
});

export const clientOptions = defineOptions({
  section: 'client',
  describe: 'Commands that use a server.',
  fields: {
    serverUrl: urlOption({
      describe: 'URL of a remote Headworks server. Set HEADWORKS_ADMIN_TOKEN to its admin token.',
      env: 'HEADWORKS_URL',
      flag: 'server',
      default: null,
      defaultText: 'the server of the data folder; if none is running, the command becomes it',
      schemes: ['http', 'https'],
    }),
    apiKey: textOption({
      describe: 'Organization key for "headworks mcp": tools then have access to that organization only.',
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
  describe: 'Background jobs.',
  fields: {
    drainSeconds: numberOption({
      describe:
        'When stopping: how long running jobs may take to finish before they are interrupted and queued again.',
      env: 'HEADWORKS_JOBS_DRAIN_SECONDS',
      default: 10,
      min: 0,
      max: 3600,
    }),
  },
});

export const loggingOptions = defineOptions({
  section: 'logging',
  describe: 'Logging.',
  fields: {
    level: choiceOption({
      describe: 'Minimum severity of log lines. "debug" also shows content and stack traces.',
      env: 'HEADWORKS_LOG_LEVEL',
      flag: 'log-level',
      default: 'info',
      choices: ['debug', 'info', 'warn', 'error', 'silent'],
    }),
    format: choiceOption({
      describe: 'Format of log lines. "auto": readable on a terminal, JSON otherwise.',
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

const days = (byDefault: number, env: string, describe: string) =>
  numberOption({ describe, env, default: byDefault, min: 0, max: 36_500 });

export const retentionOptions = defineOptions({
  section: 'retention',
  describe: 'How long rows are kept. 0 keeps them forever.',
  fields: {
    cron: cronOption({
      describe: 'Schedule of the deletion (UTC).',
      env: 'HEADWORKS_RETENTION_CRON',
      default: '17 3 * * *',
    }),
    auditDays: days(365, 'HEADWORKS_RETENTION_AUDIT_DAYS', 'Rows of the audit log.'),
    ledgerDays: days(
      90,
      'HEADWORKS_RETENTION_LEDGER_DAYS',
      'Repaired rows of the ledger; open ones are always kept.',
    ),
    jobsDays: days(30, 'HEADWORKS_RETENTION_JOBS_DAYS', 'Ended jobs, including failed ones.'),
    attemptsDays: days(
      90,
      'HEADWORKS_RETENTION_ATTEMPTS_DAYS',
      'Calls to AI models, the basis of model scores and of the log of requests.',
    ),
    requestContentDays: days(
      7,
      'HEADWORKS_RETENTION_REQUEST_CONTENT_DAYS',
      'Bodies of logged requests; there are none unless gateway.logContent is set.',
    ),
    responsesDays: days(
      30,
      'HEADWORKS_RETENTION_RESPONSES_DAYS',
      'Responses of /v1/responses, for previous_response_id.',
    ),
    discoveriesDays: days(
      365,
      'HEADWORKS_RETENTION_DISCOVERIES_DAYS',
      "Readings of providers' lists of models.",
    ),
    usageDays: days(
      400,
      'HEADWORKS_RETENTION_USAGE_DAYS',
      'Daily usage of AI models: requests, tokens and cost.',
    ),
    executionsDays: days(
      30,
      'HEADWORKS_RETENTION_EXECUTIONS_DAYS',
      'Ended executions of deployments, with their results.',
    ),
    executionFilesDays: days(
      7,
      'HEADWORKS_RETENTION_EXECUTION_FILES_DAYS',
      'Uploaded files of ended executions.',
    ),
    extractionRunsDays: days(
      90,
      'HEADWORKS_RETENTION_EXTRACTION_RUNS_DAYS',
      'Ended extraction runs; vaults are always kept.',
    ),
    vaultVersionsDays: days(
      0,
      'HEADWORKS_RETENTION_VAULT_VERSIONS_DAYS',
      'Replaced versions of items in a vault; deleted when an extraction into it completes.',
    ),
    vaultVersionsKeep: numberOption({
      describe: 'Number of versions per item that are kept regardless of age, including the newest.',
      env: 'HEADWORKS_RETENTION_VAULT_VERSIONS_KEEP',
      default: 1,
      min: 1,
      max: 1_000_000,
    }),
  },
});
