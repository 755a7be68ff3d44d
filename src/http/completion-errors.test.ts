// Error responses of /v1.
import { describe, expect, it } from 'vitest';
import { CoreError } from '../core/index.ts';
import type { GatewayErrorCode, TriedModel } from '../gateway/index.ts';
import { GatewayError, gatewayErrorCodes } from '../gateway/index.ts';
import { anthropicErrorOf, openAiErrorOf } from './completion-errors.ts';

/** `satisfies` requires a line for every code. */
const table = {
  GATEWAY_MODEL_NOT_FOUND: [404, 'invalid_request_error', 'model_not_found'],
  GATEWAY_MODEL_EXISTS: [409, 'invalid_request_error', 'gateway_model_exists'],
  GATEWAY_NOT_CONFIGURED: [503, 'server_error', 'gateway_not_configured'],
  GATEWAY_CAPABILITY_UNSUPPORTED: [400, 'invalid_request_error', 'gateway_capability_unsupported'],
  GATEWAY_ALL_RATE_LIMITED: [429, 'rate_limit_error', 'rate_limit_exceeded'],
  GATEWAY_EXHAUSTED: [503, 'server_error', 'gateway_exhausted'],
  GATEWAY_REQUEST_REJECTED: [400, 'invalid_request_error', 'invalid_request'],
  GATEWAY_STREAM_INTERRUPTED: [502, 'server_error', 'gateway_stream_interrupted'],
  GATEWAY_RESPONSE_NOT_FOUND: [404, 'invalid_request_error', 'previous_response_not_found'],
  GATEWAY_REQUEST_NOT_FOUND: [404, 'invalid_request_error', 'gateway_request_not_found'],
  GATEWAY_KEY_NOT_FOUND: [404, 'invalid_request_error', 'gateway_key_not_found'],
  GATEWAY_KEY_LIMIT_REACHED: [429, 'rate_limit_error', 'insufficient_quota'],
} satisfies Record<GatewayErrorCode, [status: number, type: string, code: string]>;

const tried = (outcome: TriedModel['outcome']): TriedModel => ({
  model: 'alpha/a',
  provider: 'alpha',
  outcome,
  attempts: 1,
  status: 400,
  availableAt: Date.parse('2026-03-01T12:00:00Z'),
});

describe('a gateway error', () => {
  it.each(Object.keys(gatewayErrorCodes) as GatewayErrorCode[])(
    '%s has its status, type and code',
    (code) => {
      const { status, body, isUnexpected, headers } = openAiErrorOf(
        new GatewayError(code, 'What happened.'),
        'r-1',
      );
      expect([status, body.error.type, body.error.code]).toEqual(table[code]);
      expect(body.error).toMatchObject({
        headworks_code: code,
        message: 'What happened.',
        request_id: 'r-1',
      });
      expect(isUnexpected).toBe(false);
      // A retry is useless; a changed request is not.
      expect(headers['x-should-retry']).toBe(status === 400 ? undefined : 'false');
    },
  );

  it('does not tell callers where the store is', () => {
    const away = new CoreError('STATE_UNAVAILABLE', 'Postgres (db.internal, user app) does not respond.');
    for (const { status, body } of [openAiErrorOf(away, 'r'), anthropicErrorOf(away, 'r')]) {
      expect(status).toBe(503);
      expect(body.error.message).toMatch(/state store.*Try again later/);
      expect(JSON.stringify(body)).not.toContain('db.internal');
    }
  });

  it('names the limit of a key, and allows a retry only within a minute', () => {
    const reached = (limit: string) =>
      new GatewayError('GATEWAY_KEY_LIMIT_REACHED', 'x', {
        retryAfterMs: 4_100,
        details: { limit, value: 5, used: 5, resetsAt: '2026-03-01T12:00:05.000Z' },
      });
    const limit = { value: 5, used: 5, resets_at: '2026-03-01T12:00:05.000Z' };
    const perMinute = openAiErrorOf(reached('requests_per_minute'), 'r');
    expect(perMinute.body.error).toMatchObject({
      code: 'rate_limit_exceeded',
      limit: { name: 'requests_per_minute', ...limit },
      retry_after_seconds: 4.1,
    });
    expect(perMinute.headers).toEqual({ 'retry-after': '5' });
    const perDay = anthropicErrorOf(reached('usd_per_day'), 'r');
    expect(perDay).toMatchObject({
      status: 429,
      headers: { 'retry-after': '5', 'x-should-retry': 'false' },
      body: {
        type: 'error',
        error: {
          type: 'rate_limit_error',
          code: 'insufficient_quota',
          limit: { name: 'usd_per_day', ...limit },
        },
      },
    });
  });

  it('does not forbid a client retry when only time ran out', () => {
    const error = new GatewayError('GATEWAY_EXHAUSTED', 'x', { details: { deadlineMs: 15_000 } });
    expect(openAiErrorOf(error, 'r')).toMatchObject({ status: 503, headers: {} });
    expect(openAiErrorOf(error, 'r').headers).not.toHaveProperty('x-should-retry');
  });

  it('lists every tried model with when it is available again', () => {
    const error = new GatewayError('GATEWAY_ALL_RATE_LIMITED', 'x', {
      retryAfterMs: 1_200,
      tried: [tried('rate-limit'), { ...tried('cooling-down'), availableAt: null }],
    });
    const { headers, body } = openAiErrorOf(error, 'r');
    expect(headers['retry-after']).toBe('2');
    expect(body.error.retry_after_seconds).toBe(1.2);
    expect(body.error.models).toEqual([
      {
        model: 'alpha/a',
        provider: 'alpha',
        outcome: 'rate-limit',
        attempts: 1,
        status: 400,
        available_at: '2026-03-01T12:00:00.000Z',
      },
      expect.objectContaining({ outcome: 'cooling-down', available_at: null }),
    ]);
    expect(openAiErrorOf(new GatewayError('GATEWAY_EXHAUSTED', 'x'), 'r').body.error).not.toHaveProperty(
      'models',
    );
  });

  it.each([
    ['context-too-long', 'context_length_exceeded'],
    ['content-refused', 'content_filter'],
    ['validation', 'invalid_request'],
  ] as const)('caused by the request itself (%s) has the type that OpenAI uses', (outcome, code) => {
    const error = new GatewayError('GATEWAY_REQUEST_REJECTED', 'x', { status: 422, tried: [tried(outcome)] });
    expect(openAiErrorOf(error, 'r')).toMatchObject({ status: 422, body: { error: { code } } });
  });
});

it('an error for requests in flight that may use the rest of a limit can be retried', () => {
  const limited = (details: object) =>
    openAiErrorOf(
      new GatewayError('GATEWAY_KEY_LIMIT_REACHED', 'x', { retryAfterMs: 1_000, details: { ...details } }),
      'r',
    );
  const inFlight = limited({ limit: 'tokens_per_day', value: 9, used: 1, reserved: 8 });
  expect(inFlight).toMatchObject({
    status: 429,
    headers: { 'retry-after': '1' },
    body: { error: { code: 'rate_limit_exceeded', limit: { name: 'tokens_per_day', reserved: 8 } } },
  });
  expect(inFlight.headers).not.toHaveProperty('x-should-retry');
  expect(limited({ limit: 'tokens_per_day', value: 9, used: 9 })).toMatchObject({
    headers: { 'x-should-retry': 'false' },
    body: { error: { code: 'insufficient_quota' } },
  });
});

describe('any other error', () => {
  it.each([
    [new CoreError('UNAUTHENTICATED', 'x'), 401, 'authentication_error', 'invalid_api_key'],
    [new CoreError('FORBIDDEN', 'x'), 403, 'permission_error', 'forbidden'],
    [new CoreError('INPUT_INVALID', 'x'), 400, 'invalid_request_error', 'input_invalid'],
    [new CoreError('SHUTTING_DOWN', 'x'), 503, 'server_error', 'shutting_down'],
    [new CoreError('DEADLINE_EXCEEDED', 'x'), 504, 'server_error', 'deadline_exceeded'],
  ])('%s has a status, a type and a code', (error, status, type, code) => {
    const answered = openAiErrorOf(error, 'r');
    expect([answered.status, answered.body.error.type, answered.body.error.code]).toEqual([
      status,
      type,
      code,
    ]);
    expect(answered.headers).not.toHaveProperty('x-should-retry');
  });

  it('names the invalid field', () => {
    const field = new CoreError('INPUT_INVALID', 'x', { details: { field: 'messages[0]' } });
    expect(openAiErrorOf(field, 'r').body.error.param).toBe('messages[0]');
    expect(openAiErrorOf(new GatewayError('GATEWAY_MODEL_NOT_FOUND', 'x'), 'r').body.error.param).toBe(
      'model',
    );
    expect(openAiErrorOf(new CoreError('INPUT_INVALID', 'x'), 'r').body.error.param).toBeNull();
  });

  it('that is unexpected does not reveal its message', () => {
    for (const thrown of [new TypeError('secret detail'), 'secret detail', null, undefined]) {
      const answered = openAiErrorOf(thrown, 'r-9');
      expect(answered).toMatchObject({ status: 500, isUnexpected: true });
      expect(JSON.stringify(answered.body)).not.toContain('secret detail');
      expect(answered.body.error.message).toContain('r-9');
    }
  });
});
