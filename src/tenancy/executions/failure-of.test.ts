import { describe, expect, it } from 'vitest';
import { CoreError, HeadworksError } from '../../core/index.ts';
import { DeploymentError } from '../errors.ts';
import type { Execution } from '../ports.ts';
import { failureOf } from './failure-of.ts';
import { forTenant } from './for-tenant.ts';

const inside =
  'office/clerk (rate-limit 429) at db.internal. Set OPENAI_API_KEY, or run "headworks models add".';
const asItIs = (text: string): string => text;
const gateway = (code: string, options = {}) => new HeadworksError(code, inside, options);

describe('what an organization hears of an error', () => {
  it.each([
    [
      'that passes, when nobody knows',
      gateway('GATEWAY_EXHAUSTED', { isRetryable: true }),
      /try again later/,
    ],
    [
      'that passes, when it is known',
      gateway('GATEWAY_ALL_RATE_LIMITED', { isRetryable: true, retryAfterMs: 29_001 }),
      /try again in 30 seconds/,
    ],
    [
      'that passes at once',
      gateway('GATEWAY_ALL_RATE_LIMITED', { isRetryable: true, retryAfterMs: 0 }),
      /try again in 1 second\./,
    ],
    ['that does not pass', gateway('GATEWAY_NOT_CONFIGURED'), /trying again does not help/],
    ['of a model that nobody knows', gateway('GATEWAY_MODEL_NOT_FOUND'), /trying again does not help/],
    ['of its own making', gateway('GATEWAY_REQUEST_REJECTED'), /Please change it/],
    [
      'of a store that is away',
      new CoreError('STATE_UNAVAILABLE', inside, { isRetryable: true }),
      /try again later/,
    ],
    ['of time', new CoreError('DEADLINE_EXCEEDED', inside), /longer than it may/],
    ['of ours', new TypeError(inside), /Something went wrong on our side/],
  ])('says what to do, and nothing of what is inside: one %s', (_kind, error, words) => {
    const failure = failureOf(error, asItIs);
    expect(failure.tenantMessage).toMatch(words);
    expect(failure.tenantMessage).not.toMatch(/office|headworks|internal|_KEY/);
    if (error instanceof HeadworksError) expect(failure).toMatchObject({ code: error.code, message: inside });
  });

  it('is what a workflow says, where that is meant for it', () => {
    expect(
      failureOf(new DeploymentError('DEPLOYMENT_DOCUMENT_UNREADABLE', 'It has no text.'), asItIs),
    ).toEqual({
      code: 'DEPLOYMENT_DOCUMENT_UNREADABLE',
      message: 'It has no text.',
    });
    const both = new DeploymentError('DEPLOYMENT_ANSWER_INVALID', inside, {
      tenantMessage: 'It does not fit.',
    });
    expect(failureOf(both, asItIs)).toMatchObject({ message: inside, tenantMessage: 'It does not fit.' });
  });
});

it('an execution for its organization has those words, also in the entries of a list, and all else as it is', () => {
  const failure = failureOf(gateway('GATEWAY_REQUEST_REJECTED'), asItIs);
  const told = { code: 'GATEWAY_REQUEST_REJECTED', message: failure.tenantMessage };
  const execution = { executionId: 'x', warnings: ['w'] } as unknown as Execution;
  const entries = [{ file: 'a', error: failure, output: { error: 'theirs' } }, { file: 'b', error: null }, 7];
  expect(forTenant({ ...execution, failure, result: entries })).toEqual({
    ...execution,
    failure: told,
    result: [{ file: 'a', error: told, output: { error: 'theirs' } }, { file: 'b', error: null }, 7],
  });
  const own = { ...execution, failure: null, result: { error: { code: 1, message: 2, tenantMessage: 3 } } };
  expect(forTenant(own)).toEqual(own);
});
