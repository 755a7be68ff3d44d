// Classification of failures, above all of rate limits.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HttpFailure } from '../core/http.ts';
import type { FailureKind } from './http-failure.ts';
import { classifyHttpFailure } from './http-failure.ts';

const now = Date.UTC(2026, 0, 31, 12);
const response = (status: number, body: unknown = '', headers: Record<string, string> = {}) => ({
  status,
  headers,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const kind = (status: number, body?: unknown, headers?: Record<string, string>) =>
  classifyHttpFailure(response(status, body, headers), now).kind;

describe('an HTTP failure', () => {
  it.each<[number, FailureKind, boolean]>([
    [200, 'malformed', false],
    [302, 'malformed', false],
    [400, 'validation', false],
    [401, 'authentication', false],
    [402, 'payment', false],
    [403, 'authentication', false],
    [404, 'not-found', false],
    [408, 'timeout', true],
    [409, 'validation', false],
    [410, 'not-found', false],
    [422, 'validation', false],
    [425, 'server-error', true],
    [429, 'rate-limit', true],
    [500, 'server-error', true],
    [501, 'server-error', false],
    [502, 'server-error', true],
    [503, 'server-error', true],
    [504, 'timeout', true],
    [529, 'server-error', true],
  ])('%i is %s (transient: %s)', (status, expected, isTransient) => {
    expect(classifyHttpFailure(response(status), now)).toMatchObject({ kind: expected, isTransient, status });
  });

  it.each<[HttpFailure['kind'], FailureKind, boolean]>([
    ['timeout', 'timeout', true],
    ['network', 'network', true],
    ['too-large', 'malformed', false],
    ['aborted', 'canceled', false],
  ])('without a response (%s) is %s', (from, expected, isTransient) => {
    const failure = new HttpFailure(from, 'x');
    expect(classifyHttpFailure(failure, now)).toMatchObject({
      kind: expected,
      isTransient,
      status: undefined,
    });
  });

  it.each<[number, unknown]>([
    [500, { error: { message: 'Rate limit exceeded, slow down' } }],
    [500, { error: { code: 429, message: 'upstream' } }],
    [502, { error: { code: '429' } }],
    [503, { status: 429 }],
    [500, { errors: [{ message: 'Too Many Requests' }] }],
    [500, 'upstream error: too many requests'],
    [500, { error: { type: 'rate_limit_exceeded' } }],
    [500, [{ error: { status: 'RESOURCE_EXHAUSTED' } }]],
    [403, { message: 'You have exceeded a secondary rate limit.' }],
    [500, { error: { type: 'rate_limit_error', message: 'slow down' } }],
    [503, { error: { code: 'TooManyRequests' } }],
    [500, { error: { code: 'RATE_LIMIT_EXCEEDED' } }],
    [500, { error: { message: 'Rate limit reached for model-1.5 in organization x' } }],
    [500, { error: { message: 'This model is rate-limited upstream.' } }],
    [502, { error: { message: 'Provider returned error', metadata: { raw: 'x is rate-limited upstream' } } }],
  ])('%i that names a rate limit is a rate limit: %j', (status, body) => {
    expect(kind(status, body)).toBe('rate-limit');
  });

  it.each<[number, unknown]>([
    [500, { error: { message: 'no such row', id: 'req_429' } }],
    [500, { error: { request_id: 429 } }],
    [500, 'error 4290 in request 429-77'],
    [500, { error: { message: 'the rate limiter crashed' } }],
    [500, { error: { message: 'See our rate limits page.' } }],
    [500, { error: { message: 'The time limit was exceeded. See our rate limits page.' } }],
    [500, { error: { type: 'limit_error' } }],
    [500, { error: { message: 'see https://docs.example/rate-limits' } }],
    [500, { error: { message: 'accurate limits unknown' } }],
  ])('%i that merely contains the words or number is none: %j', (status, body) => {
    expect(kind(status, body)).toBe('server-error');
  });

  it('a 400 that mentions rate limits stays a validation failure', () => {
    expect(kind(400, { message: 'rate limit must be a number' })).toBe('validation');
  });

  it('distinguishes an exhausted quota from a full window', () => {
    const quota = { error: { code: 'insufficient_quota', message: 'You exceeded your current quota' } };
    expect(kind(429, quota)).toBe('payment');
    expect(kind(429, quota, { 'retry-after': '20' })).toBe('rate-limit');
    expect(kind(429, '', { 'x-ratelimit-limit-req-minute': '0' })).toBe('payment');
    // The window resets, the quota stays 0.
    const none = { 'x-ratelimit-limit-req-minute': '0', 'x-ratelimit-remaining-req-minute': '0' };
    expect(classifyHttpFailure(response(429, '', none), now).hint).toBeUndefined();
  });

  it('carries the hint: of a limit from anywhere, of others only Retry-After', () => {
    const reset = { 'x-ratelimit-reset': '9' };
    expect(classifyHttpFailure(response(429, '', reset), now).hint?.retryAfterMs).toBe(9_000);
    expect(classifyHttpFailure(response(503, '', reset), now).hint).toBeUndefined();
    expect(classifyHttpFailure(response(503, '', { 'retry-after': '4' }), now).hint?.retryAfterMs).toBe(
      4_000,
    );
  });

  it('is always one of the kinds, for any response', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), fc.oneof(fc.string(), fc.json()), (status, body) => {
        expect(classifyHttpFailure({ status, headers: {}, body }, now).kind).toMatch(/^[a-z-]+$/);
      }),
    );
  });
});
