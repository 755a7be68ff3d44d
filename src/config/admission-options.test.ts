import { describe, expect, it } from 'vitest';
import { resolveConfig } from './index.ts';

const resolve = (env: Record<string, string>) => resolveConfig({ cwd: '/nonexistent-for-tests', env });

describe('options of admission', () => {
  it("have the founding document's names and defaults", () => {
    expect(resolve({}).admission).toMatchObject({
      defaultLimit: 20,
      globalLimit: 100,
      ttlHours: 6,
      cacheTtlSeconds: 600,
    });
    const changed = resolve({
      API_DEPLOYMENT_DEFAULT_RATE_LIMIT: '30',
      API_DEPLOYMENT_GLOBAL_RATE_LIMIT: '200',
      API_DEPLOYMENT_RATE_LIMIT_TTL_HOURS: '12',
      API_DEPLOYMENT_RATE_LIMIT_CACHE_TTL: '60',
    });
    expect(changed.admission).toMatchObject({
      defaultLimit: 30,
      globalLimit: 200,
      ttlHours: 12,
      cacheTtlSeconds: 60,
    });
    expect(changed.resolution.warnings).toEqual([]);
  });

  it('warn that the lock variables have no effect', () => {
    const { resolution } = resolve({
      API_DEPLOYMENT_RATE_LIMIT_LOCK_TIMEOUT: '2',
      API_DEPLOYMENT_RATE_LIMIT_LOCK_BLOCKING_TIMEOUT: '9',
    });
    expect(resolution.warnings).toEqual([
      'admission.lockTimeoutSeconds (env API_DEPLOYMENT_RATE_LIMIT_LOCK_TIMEOUT): it has no effect: decisions take no lock. Unset it.',
      'admission.lockBlockingTimeoutSeconds (env API_DEPLOYMENT_RATE_LIMIT_LOCK_BLOCKING_TIMEOUT): it has no effect: decisions take no lock. Unset it.',
    ]);
  });

  it.each(['0', '-1', '1.5', '1000000000000', 'ten'])('reject a limit of %s', (limit) => {
    expect(() => resolve({ API_DEPLOYMENT_DEFAULT_RATE_LIMIT: limit })).toThrow(
      /API_DEPLOYMENT_DEFAULT_RATE_LIMIT.*must be a whole number from 1 to 2147483647/,
    );
  });
});
