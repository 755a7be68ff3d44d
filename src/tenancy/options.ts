// Settings of deployments: what a request may bring, and how long it may take.
import { booleanOption, defineOptions, numberOption, textOption } from '../core/index.ts';
import type { OptionValues } from '../core/index.ts';

export const deploymentOptions = defineOptions({
  section: 'deployments',
  describe: 'Published workflows: uploads, executions, webhooks.',
  fields: {
    maxFiles: numberOption({
      describe: 'Files in one request at most.',
      env: 'HEADWORKS_DEPLOYMENTS_MAX_FILES',
      default: 10,
      min: 1,
      max: 1_000,
    }),
    maxFileBytes: numberOption({
      describe: 'Largest file.',
      env: 'HEADWORKS_DEPLOYMENTS_MAX_FILE_BYTES',
      default: 10_485_760,
      min: 1_024,
      max: 104_857_600,
    }),
    maxBodyBytes: numberOption({
      describe: 'Largest request, all files together.',
      env: 'HEADWORKS_DEPLOYMENTS_MAX_BODY_BYTES',
      default: 26_214_400,
      min: 1_024,
      max: 209_715_200,
    }),
    maxBytesAtOnce: numberOption({
      describe: 'What one server holds in memory of all requests that are being read.',
      env: 'HEADWORKS_DEPLOYMENTS_MAX_BYTES_AT_ONCE',
      default: 1_073_741_824,
      min: 1_024,
      max: 1_099_511_627_776,
    }),
    uploadTimeoutSeconds: numberOption({
      describe: 'Longest time for a body to arrive.',
      env: 'HEADWORKS_DEPLOYMENTS_UPLOAD_TIMEOUT_SECONDS',
      default: 60,
      min: 1,
      max: 3_600,
    }),
    minUploadBytesPerSecond: numberOption({
      describe: 'A body that arrives more slowly than this, over five seconds, is refused.',
      env: 'HEADWORKS_DEPLOYMENTS_MIN_UPLOAD_BYTES_PER_SECOND',
      default: 1_024,
      min: 0,
      max: 1_073_741_824,
    }),
    executionTimeoutSeconds: numberOption({
      describe: 'Longest time for one try of an execution.',
      env: 'HEADWORKS_DEPLOYMENTS_EXECUTION_TIMEOUT_SECONDS',
      default: 900,
      min: 1,
      max: 21_600,
    }),
    concurrency: numberOption({
      describe: 'Executions that one process runs at once.',
      env: 'HEADWORKS_DEPLOYMENTS_CONCURRENCY',
      default: 20,
      min: 1,
      max: 1_000,
    }),
    allowPrivateWebhooks: booleanOption({
      describe: 'Webhooks may go to this machine and into private networks.',
      env: 'HEADWORKS_WEBHOOK_ALLOW_PRIVATE',
      default: false,
    }),
    webhookSecret: textOption({
      describe: 'From it the signing secret of each deployment is derived; the same on all machines.',
      env: 'HEADWORKS_WEBHOOK_SECRET',
      default: null,
      defaultText: 'made at first need and kept in the data folder',
      secret: true,
      allowed: '16 to 512 printable characters',
      pattern: /^[\u0021-\u007e]{16,512}$/,
    }),
  },
});

export type DeploymentOptions = OptionValues<typeof deploymentOptions.fields>;
