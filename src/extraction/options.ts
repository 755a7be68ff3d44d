// The settings of extraction and of Looker: flags, environment variables and headworks.yaml.
import type { OptionSpec, OptionValues } from '../core/options.ts';
import {
  booleanOption,
  defineOptions,
  listOption,
  numberOption,
  textOption,
  urlOption,
} from '../core/options.ts';
import { parallelBounds, parallelDefaults, rulesBetween } from './parallel-config.ts';

const none = 'none';
const timeoutBounds = { default: 120, min: 1, max: 3600 };

/** The same option, with null as its default. */
const orNone = <T>(spec: OptionSpec<T>, defaultText: string): OptionSpec<T | null> => ({
  ...spec,
  default: null,
  defaultText,
});

const optionalPath = (
  spec: Omit<Parameters<typeof textOption<null>>[0], 'default' | 'allowed'>,
): OptionSpec<string | null> => ({
  ...textOption({ ...spec, default: null, allowed: 'a path' }),
  isPath: true,
});

export const extractionOptions = defineOptions({
  section: 'extraction',
  describe: 'How content is extracted from a source into a vault.',
  fields: {
    types: listOption({
      describe: 'Content types to extract.',
      env: 'HEADWORKS_EXTRACTION_TYPES',
      flag: 'types',
      default: [],
      defaultText: 'all that the source has',
      allowed: 'a list of content types, separated by commas',
      pattern: /^[\w.-]+$/,
    }),
    workers: numberOption({
      describe: 'Maximum number of pages in flight; 1: sequential.',
      env: 'HEADWORKS_EXTRACTION_WORKERS',
      flag: 'workers',
      default: parallelDefaults.workers,
      defaultText: 'the number of cores, at most 8',
      ...parallelBounds.workers,
    }),
    queueSize: orNone(
      numberOption({
        describe:
          'Maximum number of pages queued for worker threads (never more than 8 MB); at least workers × 10.',
        env: 'HEADWORKS_EXTRACTION_QUEUE_SIZE',
        flag: 'queue-size',
        default: parallelBounds.queueSize.min,
        ...parallelBounds.queueSize,
      }),
      'workers × 100',
    ),
    batchSize: numberOption({
      describe: 'Items per page.',
      env: 'HEADWORKS_EXTRACTION_BATCH_SIZE',
      flag: 'batch-size',
      default: parallelDefaults.batchSize,
      ...parallelBounds.batchSize,
    }),
    rateLimitPerMinute: numberOption({
      describe: 'Maximum number of calls in any minute.',
      env: 'HEADWORKS_EXTRACTION_RATE_LIMIT_PER_MINUTE',
      flag: 'rate-limit-per-minute',
      default: parallelDefaults.rateLimitPerMinute,
      ...parallelBounds.rateLimitPerMinute,
    }),
    rateLimitPerSecond: numberOption({
      describe: 'Maximum number of calls in any second; not above the calls per minute.',
      env: 'HEADWORKS_EXTRACTION_RATE_LIMIT_PER_SECOND',
      flag: 'rate-limit-per-second',
      default: parallelDefaults.rateLimitPerSecond,
      ...parallelBounds.rateLimitPerSecond,
    }),
    adaptive: booleanOption({
      describe: 'Adapt the rate to 429 responses.',
      env: 'HEADWORKS_EXTRACTION_ADAPTIVE',
      flag: 'adaptive',
      default: parallelDefaults.adaptiveRateLimiting,
    }),
    maxCalls: orNone(
      numberOption({
        describe: 'Stop after this many calls; the next run continues from there.',
        env: 'HEADWORKS_EXTRACTION_MAX_CALLS',
        flag: 'max-calls',
        default: 1,
        min: 1,
        max: 1_000_000_000,
      }),
      'no limit',
    ),
    retries: numberOption({
      describe: 'Retries of a page after a transient failure.',
      env: 'HEADWORKS_EXTRACTION_RETRIES',
      flag: 'retries',
      default: 4,
      min: 0,
      max: 20,
    }),
    retryDelayMs: numberOption({
      describe: 'Delay before the first retry, doubled each time up to 30 seconds.',
      env: 'HEADWORKS_EXTRACTION_RETRY_DELAY_MS',
      default: 1000,
      min: 1,
      max: 60_000,
    }),
    folders: listOption({
      describe: 'Only dashboards and looks of these folders.',
      env: 'HEADWORKS_EXTRACTION_FOLDERS',
      flag: 'folders',
      default: [],
      defaultText: 'all',
      allowed: 'a list of folder ids, separated by commas',
      pattern: /^[\w.:-]+$/,
    }),
    recursive: booleanOption({
      describe: 'With folders: include their subfolders.',
      env: 'HEADWORKS_EXTRACTION_RECURSIVE',
      flag: 'recursive',
      default: false,
    }),
    vault: optionalPath({
      describe: 'The SQLite file to extract into.',
      env: 'HEADWORKS_EXTRACTION_VAULT',
      flag: 'vault',
      defaultText: 'vaults/SOURCE.vault in the data folder',
    }),
    fresh: booleanOption({
      describe: 'Start a new extraction instead of resuming the last one.',
      env: 'HEADWORKS_EXTRACTION_FRESH',
      flag: 'fresh',
      default: false,
    }),
    retryFailed: booleanOption({
      describe: 'Request failed pages again.',
      env: 'HEADWORKS_EXTRACTION_RETRY_FAILED',
      flag: 'retry-failed',
      default: false,
    }),
    resetBackoff: booleanOption({
      describe:
        'Drop the slower rate that was learned from earlier 429s. The limits and a Retry-After still apply.',
      env: 'HEADWORKS_EXTRACTION_RESET_BACKOFF',
      flag: 'reset-backoff',
      default: false,
    }),
    dryRun: booleanOption({
      describe: 'Only estimate the number of calls and minutes.',
      env: 'HEADWORKS_EXTRACTION_DRY_RUN',
      flag: 'dry-run',
      default: false,
    }),
    sourcesFile: optionalPath({
      describe: 'A YAML list of sources that the server registers when it starts.',
      env: 'HEADWORKS_EXTRACTION_SOURCES_FILE',
      defaultText: none,
    }),
    timeoutSeconds: orNone(
      numberOption({
        describe: 'Timeout for the first byte of a response.',
        env: 'HEADWORKS_EXTRACTION_TIMEOUT_SECONDS',
        flag: 'timeout-seconds',
        ...timeoutBounds,
      }),
      String(timeoutBounds.default),
    ),
  },
  check: ({ workers, queueSize, rateLimitPerMinute, rateLimitPerSecond, recursive, folders }) => [
    ...rulesBetween({
      workers,
      rateLimitPerMinute,
      rateLimitPerSecond,
      ...(queueSize === null ? {} : { queueSize }),
    }),
    ...(recursive && folders?.length === 0
      ? [{ field: 'recursive', problem: 'needs at least one folder (--folders ID)' }]
      : []),
  ],
});

export const lookerOptions = defineOptions({
  section: 'looker',
  describe: 'Looker as a source.',
  fields: {
    baseUrl: urlOption({
      describe: 'URL of Looker, like https://acme.looker.com.',
      env: ['LOOKER_BASE_URL', 'LOOKERSDK_BASE_URL'],
      default: null,
      defaultText: none,
      schemes: ['https', 'http'],
    }),
    clientId: textOption({
      describe: 'Client id of an API key of Looker.',
      env: ['LOOKER_CLIENT_ID', 'LOOKERSDK_CLIENT_ID'],
      default: null,
      defaultText: none,
    }),
    clientSecret: textOption({
      describe: 'Client secret of the Looker API key with that client id.',
      env: ['LOOKER_CLIENT_SECRET', 'LOOKERSDK_CLIENT_SECRET'],
      default: null,
      defaultText: none,
      secret: true,
    }),
    timeoutSeconds: orNone(
      numberOption({
        describe:
          'Timeout for the first byte of a response of Looker; extraction.timeoutSeconds overrides it.',
        env: 'LOOKERSDK_TIMEOUT',
        ...timeoutBounds,
      }),
      String(timeoutBounds.default),
    ),
  },
});

/** The timeout for the first byte of a response; for Looker, the variable of its SDK sets it, too. */
export const firstByteTimeoutMs = (
  { timeoutSeconds }: Pick<OptionValues<typeof extractionOptions.fields>, 'timeoutSeconds'>,
  sdkTimeoutSeconds: number | null,
): number => (timeoutSeconds ?? sdkTimeoutSeconds ?? timeoutBounds.default) * 1000;
