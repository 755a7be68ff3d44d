import { describe, expect, it } from 'vitest';
import { CoreError, HeadworksError } from '../core/index.ts';
import { DeploymentError, toFailure, toTenantView } from './errors.ts';
import type { Execution } from './executions/types.ts';

const internals =
  'office/clerk (rate-limit 429) at db.internal. Set OPENAI_API_KEY, or run "headworks models create".';
const unredacted = (text: string): string => text;
const gateway = (code: string, options = {}) => new HeadworksError(code, internals, options);

describe('the message for an organization', () => {
  it.each([
    ['that is retryable', gateway('GATEWAY_EXHAUSTED', { isRetryable: true }), /try again later/],
    [
      'that is retryable after a known time',
      gateway('GATEWAY_ALL_RATE_LIMITED', { isRetryable: true, retryAfterMs: 29_001 }),
      /try again in 30 seconds/,
    ],
    [
      'that is retryable at once',
      gateway('GATEWAY_ALL_RATE_LIMITED', { isRetryable: true, retryAfterMs: 0 }),
      /try again in 1 second\./,
    ],
    ['that is not retryable', gateway('GATEWAY_NOT_CONFIGURED'), /trying again does not help/],
    ['of an unknown model', gateway('GATEWAY_MODEL_NOT_FOUND'), /trying again does not help/],
    ['of the request', gateway('GATEWAY_REQUEST_REJECTED'), /Please change it/],
    [
      'of a store that is down',
      new CoreError('STATE_UNAVAILABLE', internals, { isRetryable: true }),
      /try again later/,
    ],
    ['of a timeout', new CoreError('DEADLINE_EXCEEDED', internals), /took too long/],
    ['that is a bug', new TypeError(internals), /Something went wrong on our side/],
  ])('has a remedy and no internals: an error %s', (_kind, error, words) => {
    const failure = toFailure(error, unredacted);
    expect(failure.tenantMessage).toMatch(words);
    expect(failure.tenantMessage).not.toMatch(/office|headworks|internal|_KEY/);
    if (error instanceof HeadworksError)
      expect(failure).toMatchObject({ code: error.code, message: internals });
  });

  it('is the message of the workflow where it is meant for the organization', () => {
    expect(
      toFailure(new DeploymentError('DEPLOYMENT_DOCUMENT_UNREADABLE', 'It has no text.'), unredacted),
    ).toEqual({
      code: 'DEPLOYMENT_DOCUMENT_UNREADABLE',
      message: 'It has no text.',
    });
    const both = new DeploymentError('DEPLOYMENT_RESPONSE_INVALID', internals, {
      tenantMessage: 'It does not fit.',
    });
    expect(toFailure(both, unredacted)).toMatchObject({
      message: internals,
      tenantMessage: 'It does not fit.',
    });
  });
});

it('the tenant view has tenant messages, also in the entries of a list, and everything else unchanged', () => {
  const failure = toFailure(gateway('GATEWAY_REQUEST_REJECTED'), unredacted);
  const tenantFailure = { code: 'GATEWAY_REQUEST_REJECTED', message: failure.tenantMessage };
  const execution = { executionId: 'x', warnings: ['w'] } as unknown as Execution;
  const entries = [{ file: 'a', error: failure, output: { error: 'theirs' } }, { file: 'b', error: null }, 7];
  expect(toTenantView({ ...execution, failure, result: entries })).toEqual({
    ...execution,
    failure: tenantFailure,
    result: [{ file: 'a', error: tenantFailure, output: { error: 'theirs' } }, { file: 'b', error: null }, 7],
  });
  const own = { ...execution, failure: null, result: { error: { code: 1, message: 2, tenantMessage: 3 } } };
  expect(toTenantView(own)).toEqual(own);
});
