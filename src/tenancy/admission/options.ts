// Settings of admission. Names without prefix are the founding document's.
import { choiceOption, defineOptions, numberOption } from '../../core/index.ts';
import type { OptionValues } from '../../core/index.ts';

const noLock = 'it is accepted and changes nothing: a decision takes no lock. Unset it.';

/** The largest limit anybody can set: what Postgres's integer holds. */
export const largestLimit = 2_147_483_647;

export const admissionOptions = defineOptions({
  section: 'admission',
  describe: 'Concurrent requests to API deployments, per organization and in all.',
  fields: {
    defaultLimit: numberOption({
      describe: 'Concurrent requests of an organization that has no limit of its own.',
      env: 'API_DEPLOYMENT_DEFAULT_RATE_LIMIT',
      default: 20,
      min: 1,
      max: largestLimit,
    }),
    globalLimit: numberOption({
      describe: 'Concurrent requests of all organizations together.',
      env: 'API_DEPLOYMENT_GLOBAL_RATE_LIMIT',
      default: 100,
      min: 1,
      max: largestLimit,
    }),
    ttlHours: numberOption({
      describe: 'The longest an execution may hold its slot; it is ended after that.',
      env: 'API_DEPLOYMENT_RATE_LIMIT_TTL_HOURS',
      default: 6,
      min: 1,
      max: 168,
    }),
    cacheTtlSeconds: numberOption({
      describe: "How long an organization's limit is remembered after it was last read.",
      env: 'API_DEPLOYMENT_RATE_LIMIT_CACHE_TTL',
      default: 600,
      min: 1,
      max: 86_400,
    }),
    lockTimeoutSeconds: numberOption({
      describe: 'Accepted and not needed: a decision takes no lock.',
      env: 'API_DEPLOYMENT_RATE_LIMIT_LOCK_TIMEOUT',
      default: 2,
      min: 0,
      max: 86_400,
      notice: noLock,
    }),
    lockBlockingTimeoutSeconds: numberOption({
      describe: 'Accepted and not needed: a decision takes no lock.',
      env: 'API_DEPLOYMENT_RATE_LIMIT_LOCK_BLOCKING_TIMEOUT',
      default: 5,
      min: 0,
      max: 86_400,
      notice: noLock,
    }),
    leaseSeconds: numberOption({
      describe: 'A slot that nobody renews is free after this; it is renewed three times as often.',
      env: 'HEADWORKS_ADMISSION_LEASE_SECONDS',
      default: 60,
      min: 3,
      max: 3_600,
    }),
    whenRedisIsAway: choiceOption({
      describe: 'open: admit within a local budget, recorded in the ledger; closed: answer 503.',
      env: 'HEADWORKS_ADMISSION_WHEN_REDIS_IS_AWAY',
      default: 'open',
      choices: ['open', 'closed'],
    }),
    decisionTimeoutMs: numberOption({
      describe: 'Longest wait for a decision of Redis before this process decides by itself.',
      env: 'HEADWORKS_ADMISSION_DECISION_TIMEOUT_MS',
      default: 40,
      min: 5,
      max: 5_000,
    }),
    longestWaitSeconds: numberOption({
      describe: 'The most that ?wait= and a deployment may ask for.',
      env: 'HEADWORKS_ADMISSION_LONGEST_WAIT_SECONDS',
      default: 60,
      min: 0,
      max: 300,
    }),
  },
});

export type AdmissionOptions = OptionValues<typeof admissionOptions.fields>;
