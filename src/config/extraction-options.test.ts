import { describe, expect, it } from 'vitest';
import { firstByteTimeoutMs } from '../extraction/options.ts';
import { resolveConfig } from './resolve-config.ts';

const cwd = '/nonexistent-for-tests';
const resolved = (flags: Record<string, string>, env: Record<string, string> = {}) =>
  resolveConfig({ flags, env, cwd });

describe('the options of extraction', () => {
  it('have the defaults that the founding document names', () => {
    const { extraction } = resolved({});
    expect(extraction).toMatchObject({
      batchSize: 100,
      rateLimitPerMinute: 100,
      rateLimitPerSecond: 10,
      adaptive: true,
      queueSize: null,
      maxCalls: null,
      types: [],
    });
  });

  it('come from flags, the environment and the names of the official SDK', () => {
    const env = {
      HEADWORKS_EXTRACTION_WORKERS: '3',
      LOOKERSDK_BASE_URL: 'https://acme.looker.com',
      LOOKERSDK_CLIENT_ID: 'id',
      LOOKERSDK_CLIENT_SECRET: 'secret-of-the-sdk',
    };
    expect(resolved({ types: 'looks,users', vault: 'x.vault' }, env)).toMatchObject({
      extraction: { workers: 3, types: ['looks', 'users'], vault: `${cwd}/x.vault` },
      looker: { baseUrl: 'https://acme.looker.com', clientId: 'id', clientSecret: 'secret-of-the-sdk' },
    });
    const ours = { ...env, LOOKER_CLIENT_ID: 'ours' };
    expect(resolved({}, ours).looker.clientId).toBe('ours');
  });

  it('take the timeout of the Looker SDK for Looker only, and only if no other is set', () => {
    const sdk = { LOOKERSDK_TIMEOUT: '30' };
    const timeouts = (flags: Record<string, string>, env: Record<string, string>) => {
      const { extraction, looker } = resolved(flags, env);
      return {
        looker: firstByteTimeoutMs(extraction, looker.timeoutSeconds),
        rest: firstByteTimeoutMs(extraction, null),
      };
    };
    expect(timeouts({}, {})).toEqual({ looker: 120_000, rest: 120_000 });
    expect(timeouts({}, sdk)).toEqual({ looker: 30_000, rest: 120_000 });
    expect(timeouts({ 'timeout-seconds': '7' }, sdk)).toEqual({ looker: 7_000, rest: 7_000 });
  });

  it.each<[Record<string, string>, string]>([
    [{ workers: '4', 'queue-size': '39' }, 'must be at least 40, ten times the 4 workers'],
    [{ 'rate-limit-per-minute': '5' }, 'must not be above the 5 per minute'],
    [{ recursive: 'true' }, 'needs at least one folder (--folders ID)'],
    [{ workers: '0' }, '"0" from flag --workers must be a whole number from 1 to 50'],
    [{ types: 'a b' }, 'must be a list of content types'],
  ])('reject %j: %s', (flags, problem) => expect(() => resolved(flags)).toThrow(problem));

  it('report problems between options together with problems of single options', () => {
    const flags = { 'batch-size': '5', workers: '4', 'queue-size': '20' };
    expect(() => resolved(flags)).toThrow(/2 problems[^]*batchSize[^]*queueSize.*must be at least 40/);
  });
});
