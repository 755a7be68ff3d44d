// Tenant services without any data; a test replaces those it is about.
import { CoreError } from '../../../src/core/index.ts';
import type { TenantServices } from '../../../src/http/deps.ts';

const nothing = (): never => {
  throw new CoreError('NOT_FOUND', 'There is nothing in this test.');
};
const nothingYet = async (): Promise<never> => nothing();

/** `createTestDeps({ tenants: { ...emptyTenantServices, limits: … } })`. */
export const emptyTenantServices: TenantServices = {
  organizations: {
    find: nothing,
    list: () => [],
    create: nothingYet,
    rename: nothingYet,
    delete: nothingYet,
  },
  keys: {
    create: nothingYet,
    list: nothing,
    check: () => null,
    revoke: nothingYet,
  },
  deployments: {
    list: () => [],
    get: nothing,
    find: nothing,
    create: nothingYet,
    update: nothingYet,
    delete: nothingYet,
    warnings: async () => [],
    signingSecret: () => null,
  },
  starter: {
    uploads: {
      maxFiles: 3,
      maxFileBytes: 100_000,
      maxBodyBytes: 200_000,
      maxUploadMemoryBytes: 1_000_000,
      uploadTimeoutSeconds: 10,
      minUploadBytesPerSecond: 0,
    },
    maxWaitMs: 60_000,
    resolveDeployment: nothing,
    begin: nothingYet,
  },
  executions: {
    get: nothingYet,
    getOf: nothingYet,
    list: async () => [],
    whenEnded: nothingYet,
    cancel: nothingYet,
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
  queued: () => 0,
};
