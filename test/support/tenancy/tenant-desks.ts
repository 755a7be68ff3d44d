// Desks for tenants that know nobody and hold nothing: a test brings the ones it is about.
import { CoreError } from '../../../src/core/index.ts';
import type { TenantDesks } from '../../../src/http/index.ts';

const nothing = (): never => {
  throw new CoreError('NOT_FOUND', 'There is nothing in this test house.');
};
const nothingYet = async (): Promise<never> => nothing();

/** `testHouse({ tenants: { ...emptyTenantDesks, limits: … } })`. */
export const emptyTenantDesks: TenantDesks = {
  organizations: {
    find: nothing,
    list: () => [],
    add: nothingYet,
    rename: nothingYet,
    remove: nothingYet,
  },
  keys: {
    create: nothingYet,
    list: nothing,
    revoke: nothingYet,
    organizationOf: () => null,
    refusal: () => null,
  },
  deployments: {
    list: () => [],
    get: nothing,
    find: nothing,
    add: nothingYet,
    change: nothingYet,
    remove: nothingYet,
    warnings: async () => [],
    signingSecret: () => null,
  },
  door: {
    uploads: {
      maxFiles: 3,
      maxFileBytes: 100_000,
      maxBodyBytes: 200_000,
      maxUploadMemoryBytes: 1_000_000,
      timeoutMs: 10_000,
      minBytesPerSecond: 0,
    },
    longestWaitMs: 60_000,
    deploymentAt: nothing,
    enter: nothingYet,
  },
  executions: {
    get: nothingYet,
    getOf: nothingYet,
    list: async () => [],
    whenEnded: nothingYet,
    stop: nothingYet,
    release: nothingYet,
  },
  limits: {
    defaultLimit: 20,
    globalLimit: 100,
    set: nothingYet,
    get: nothingYet,
    overview: async () => ({ globalUsed: null, limits: [] }),
    list: async () => [],
    delete: nothingYet,
    clearCache: async () => 0,
  },
  alerts: { list: () => [] },
  waiting: () => 0,
};
