// Rate-limit responses in the styles of the providers, read by our parser of retry hints.
import { describe, expect, it } from 'vitest';
import { classifyHttpFailure, readRetryHint } from '../../resilience/index.ts';
import { goDuration, hintStyles, rateLimitResponse } from './rate-limit-responses.ts';

const now = Date.parse('2026-03-01T12:00:00Z');

describe('a rate-limit response', () => {
  const telling = hintStyles.filter((style) => style !== 'none' && style !== 'cloudflare-day');

  it.each(telling)('in the style %s has a retry hint', (style) => {
    for (const seconds of [1, 45, 90.5, 4_000]) {
      const { headers, body } = rateLimitResponse(style, seconds, now);
      const hint = readRetryHint({ headers, body: JSON.stringify(body) }, now);
      // Some styles have whole seconds only.
      expect(Math.abs((hint?.retryAfterMs ?? 0) / 1_000 - seconds)).toBeLessThanOrEqual(1);
    }
  });

  it('for the day ends with the day', () => {
    const { headers, body } = rateLimitResponse('cloudflare-day', 60, now);
    expect(readRetryHint({ headers, body: JSON.stringify(body) }, now)?.retryAfterMs).toBe(12 * 3_600_000);
  });

  it.each(hintStyles)('in the style %s is classified as a rate limit, whatever its status', (style) => {
    const { headers, body } = rateLimitResponse(style, 60, now);
    for (const status of [429, 500, 503])
      expect(classifyHttpFailure({ status, headers, body: JSON.stringify(body) }, now).kind).toBe(
        'rate-limit',
      );
  });

  it('without a hint has none', () => {
    const { headers, body } = rateLimitResponse('none', 60, now);
    expect(readRetryHint({ headers, body: JSON.stringify(body) }, now)).toBeUndefined();
  });
});

it.each([
  [0, '0s'],
  [0.006, '0.006s'],
  [59.5, '59.5s'],
  [60, '1m0s'],
  [992.64, '16m32.64s'],
  [3_600, '1h0m0s'],
  [90_061.001, '25h1m1.001s'],
])('formats %d seconds as Go does: %s', (seconds, text) => {
  expect(goDuration(seconds)).toBe(text);
});
