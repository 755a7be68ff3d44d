// Options of admission and deployments. Environment variables without prefix are the founding document's.
import { booleanOption, choiceOption, defineOptions, numberOption, textOption } from '../core/index.ts';
import type { OptionValues } from '../core/index.ts';

const noLock = 'it has no effect: decisions take no lock. Unset it.';

/** The maximum of a Postgres integer. */
export const maxLimit = 2_147_483_647;

export const admissionOptions = defineOptions({
  section: 'admission',
  describe: 'Concurrent requests to API deployments, per organization and globally.',
  fields: {
    defaultLimit: numberOption({
      describe: 'Concurrent requests of an organization without a custom limit.',
      env: 'API_DEPLOYMENT_DEFAULT_RATE_LIMIT',
      default: 20,
      min: 1,
      max: maxLimit,
    }),
    globalLimit: numberOption({
      describe: 'Concurrent requests of all organizations together.',
      env: 'API_DEPLOYMENT_GLOBAL_RATE_LIMIT',
      default: 100,
      min: 1,
      max: maxLimit,
    }),
    ttlHours: numberOption({
      describe: 'Longest time an execution may hold its slot; it is ended after that.',
      env: 'API_DEPLOYMENT_RATE_LIMIT_TTL_HOURS',
      default: 6,
      min: 1,
      max: 168,
    }),
    cacheTtlSeconds: numberOption({
      describe: "How long an organization's limit is cached after its last use.",
      env: 'API_DEPLOYMENT_RATE_LIMIT_CACHE_TTL',
      default: 600,
      min: 1,
      max: 86_400,
    }),
    lockTimeoutSeconds: numberOption({
      describe: 'Accepted without effect: decisions take no lock.',
      env: 'API_DEPLOYMENT_RATE_LIMIT_LOCK_TIMEOUT',
      default: 2,
      min: 0,
      max: 86_400,
      notice: noLock,
    }),
    lockBlockingTimeoutSeconds: numberOption({
      describe: 'Accepted without effect: decisions take no lock.',
      env: 'API_DEPLOYMENT_RATE_LIMIT_LOCK_BLOCKING_TIMEOUT',
      default: 5,
      min: 0,
      max: 86_400,
      notice: noLock,
    }),
    leaseSeconds: numberOption({
      describe: 'Lease of a slot; renewed every third of it.',
      env: 'HEADWORKS_ADMISSION_LEASE_SECONDS',
      default: 60,
      min: 3,
      max: 3_600,
    }),
    redisFailureMode: choiceOption({
      describe:
        'During a confirmed outage of Redis. open: admit within a share of each limit, recorded in the ledger; closed: respond with 503.',
      env: 'HEADWORKS_ADMISSION_REDIS_FAILURE_MODE',
      default: 'open',
      choices: ['open', 'closed'],
    }),
    maxWaitSeconds: numberOption({
      describe: 'Longest time in the queue that ?wait= and a deployment may request.',
      env: 'HEADWORKS_ADMISSION_MAX_WAIT_SECONDS',
      default: 60,
      min: 0,
      max: 300,
    }),
  },
});

export type AdmissionOptions = OptionValues<typeof admissionOptions.fields>;

export const deploymentOptions = defineOptions({
  section: 'deployments',
  describe: 'Published workflows: uploads, executions, webhooks.',
  fields: {
    maxFiles: numberOption({
      describe: 'Maximum number of files in a request.',
      env: 'HEADWORKS_DEPLOYMENTS_MAX_FILES',
      default: 10,
      min: 1,
      max: 1_000,
    }),
    maxFileBytes: numberOption({
      describe: 'Maximum size of a file.',
      env: 'HEADWORKS_DEPLOYMENTS_MAX_FILE_BYTES',
      default: 10_485_760,
      min: 1_024,
      max: 104_857_600,
    }),
    maxBodyBytes: numberOption({
      describe: 'Maximum size of a request, all files together.',
      env: 'HEADWORKS_DEPLOYMENTS_MAX_BODY_BYTES',
      default: 26_214_400,
      min: 1_024,
      max: 209_715_200,
    }),
    maxUploadMemoryBytes: numberOption({
      describe: 'Memory of one server for the bodies of all requests being received.',
      env: 'HEADWORKS_DEPLOYMENTS_MAX_UPLOAD_MEMORY_BYTES',
      default: 1_073_741_824,
      min: 1_024,
      max: 1_099_511_627_776,
    }),
    uploadTimeoutSeconds: numberOption({
      describe: 'Timeout for receiving a body.',
      env: 'HEADWORKS_DEPLOYMENTS_UPLOAD_TIMEOUT_SECONDS',
      default: 60,
      min: 1,
      max: 3_600,
    }),
    minUploadBytesPerSecond: numberOption({
      describe: 'A body that arrives more slowly than this over five seconds is rejected.',
      env: 'HEADWORKS_DEPLOYMENTS_MIN_UPLOAD_BYTES_PER_SECOND',
      default: 1_024,
      min: 0,
      max: 1_073_741_824,
    }),
    executionTimeoutSeconds: numberOption({
      describe: 'Timeout of one attempt of an execution.',
      env: 'HEADWORKS_DEPLOYMENTS_EXECUTION_TIMEOUT_SECONDS',
      default: 900,
      min: 1,
      max: 21_600,
    }),
    concurrency: numberOption({
      describe: 'Executions that one process runs concurrently; three quarters of them for one organization.',
      env: 'HEADWORKS_DEPLOYMENTS_CONCURRENCY',
      default: 20,
      min: 1,
      max: 1_000,
    }),
    allowPrivateWebhooks: booleanOption({
      describe: 'Allow webhooks to this machine and to private networks.',
      env: 'HEADWORKS_WEBHOOK_ALLOW_PRIVATE',
      default: false,
    }),
    webhookSecret: textOption({
      describe:
        'The signing secret of each deployment is derived from it; set the same value on all machines.',
      env: 'HEADWORKS_WEBHOOK_SECRET',
      default: null,
      defaultText: 'generated on first use and stored in the data folder',
      secret: true,
      allowed: '16 to 512 printable characters',
      pattern: /^[\u0021-\u007e]{16,512}$/,
    }),
  },
});

export type DeploymentOptions = OptionValues<typeof deploymentOptions.fields>;
