// Every form of hint that real servers send, as a table; and invalid input, which must yield none.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxTaskMs, repeatedTaskMs } from '../../test/support/longest-task.ts';
import { hasNoQuota, maxHintMs, readRetryHint } from './retry-hints.ts';

const now = Date.UTC(2026, 0, 31, 12, 0, 0);
const json = (value: unknown) => JSON.stringify(value);
const hourMs = 3_600_000;
const openRouter = (raw: string) =>
  json({ error: { message: 'Provider returned error', code: 429, metadata: { raw, provider_name: 'X' } } });
const gemini = (retryDelay: string, ...quotaIds: readonly string[]) => ({
  error: {
    code: 429,
    message: `You exceeded your current quota. Please retry in ${retryDelay}.`,
    status: 'RESOURCE_EXHAUSTED',
    details: [
      {
        '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
        violations: quotaIds.map((quotaId) => ({ quotaMetric: 'requests', quotaId, quotaValue: '20' })),
      },
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay },
    ],
  },
});
type Row = readonly [
  name: string,
  headers: Record<string, string>,
  body: string,
  retryAfterMs: number,
  source: string,
];

const hints: readonly Row[] = [
  ['Retry-After in seconds', { 'Retry-After': '30' }, '', 30_000, 'retry-after'],
  ['Retry-After with a fraction', { 'retry-after': '7.66' }, '', 7_660, 'retry-after'],
  ['Retry-After now', { 'retry-after': '0' }, '', 1_000, 'retry-after'],
  ['Retry-After just passed', { 'retry-after': '-5' }, '', 1_000, 'retry-after'],
  ['Retry-After as a date', { 'retry-after': 'Sat, 31 Jan 2026 12:00:42 GMT' }, '', 42_000, 'retry-after'],
  [
    'a date against the clock of the server',
    { 'retry-after': 'Sat, 31 Jan 2026 15:00:42 GMT', date: 'Sat, 31 Jan 2026 15:00:00 GMT' },
    '',
    42_000,
    'retry-after',
  ],
  ['Azure and OpenAI in milliseconds', { 'retry-after-ms': '1250' }, '', 1_250, 'retry-after-ms'],
  ['Azure', { 'x-ms-retry-after-ms': '320' }, '', 320, 'x-ms-retry-after-ms'],
  [
    'milliseconds before seconds',
    { 'retry-after': '2', 'retry-after-ms': '1250' },
    '',
    1_250,
    'retry-after-ms',
  ],
  ['OpenAI 1s', { 'x-ratelimit-reset-requests': '1s' }, '', 1_000, 'x-ratelimit-reset-requests'],
  ['OpenAI 6m0s', { 'x-ratelimit-reset-tokens': '6m0s' }, '', 360_000, 'x-ratelimit-reset-tokens'],
  ['OpenAI 12ms', { 'x-ratelimit-reset-tokens': '12ms' }, '', 12, 'x-ratelimit-reset-tokens'],
  [
    'Groq, the window that is used up',
    {
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '2m59.56s',
      'x-ratelimit-remaining-tokens': '5000',
      'x-ratelimit-reset-tokens': '7.66s',
    },
    '',
    179_560,
    'x-ratelimit-reset-requests',
  ],
  [
    'Groq in prose',
    {},
    json({ error: { message: 'Rate limit reached for model. Please try again in 16m32.64s. Visit us.' } }),
    992_640,
    'body message',
  ],
  [
    'Cerebras, seconds, both used up: the later',
    {
      'x-ratelimit-remaining-requests-day': '0',
      'x-ratelimit-reset-requests-day': '33011.38',
      'x-ratelimit-remaining-tokens-minute': '0',
      'x-ratelimit-reset-tokens-minute': '11.38',
    },
    '',
    33_011_380,
    'x-ratelimit-reset-requests-day',
  ],
  [
    'Cerebras without what remains: the sooner',
    { 'x-ratelimit-reset-requests-day': '33011.38', 'x-ratelimit-reset-tokens-minute': '11.38' },
    '',
    11_380,
    'x-ratelimit-reset-tokens-minute',
  ],
  [
    'SambaNova',
    { 'x-ratelimit-reset-requests-day': '4h17m' },
    '',
    15_420_000,
    'x-ratelimit-reset-requests-day',
  ],
  ['Mistral', { 'ratelimitbysize-reset': '28' }, '', 28_000, 'ratelimitbysize-reset'],
  [
    'tokens left, but too few',
    {
      'x-ratelimit-remaining-tokens': '10',
      'x-ratelimit-reset-tokens': '9s',
      'x-ratelimit-remaining-requests': '3',
    },
    '',
    9_000,
    'x-ratelimit-reset-tokens',
  ],
  [
    'OpenRouter, epoch milliseconds in the body',
    {},
    json({
      error: {
        code: 429,
        message: 'Rate limit exceeded: free-models-per-min.',
        metadata: {
          headers: {
            'X-RateLimit-Limit': '20',
            'X-RateLimit-Remaining': '0',
            'X-RateLimit-Reset': String(now + 55_000),
          },
        },
      },
    }),
    55_000,
    'body x-ratelimit-reset',
  ],
  ['epoch milliseconds', { 'x-ratelimit-reset': String(now + 1_500) }, '', 1_500, 'x-ratelimit-reset'],
  ['epoch seconds', { 'x-ratelimit-reset': String(now / 1_000 + 90) }, '', 90_000, 'x-ratelimit-reset'],
  [
    'a moment ago, by a clock that is ahead',
    { 'x-ratelimit-reset': String(now - 1) },
    '',
    1_000,
    'x-ratelimit-reset',
  ],
  [
    'a moment ago, in seconds',
    { 'x-ratelimit-reset': String(now / 1_000 - 60) },
    '',
    1_000,
    'x-ratelimit-reset',
  ],
  [
    'a moment ago, as a time',
    { 'x-ratelimit-reset': '2026-01-31T11:59:30Z' },
    '',
    1_000,
    'x-ratelimit-reset',
  ],
  ['a date of a moment ago', { 'retry-after': 'Sat, 31 Jan 2026 11:59:00 GMT' }, '', 1_000, 'retry-after'],
  ['plain seconds', { 'x-ratelimit-reset': '90' }, '', 90_000, 'x-ratelimit-reset'],
  [
    'Anthropic',
    {
      'anthropic-ratelimit-requests-reset': '2026-01-31T12:00:21Z',
      'anthropic-ratelimit-requests-remaining': '0',
    },
    '',
    21_000,
    'anthropic-ratelimit-requests-reset',
  ],
  [
    'Gemini',
    {},
    json({
      error: {
        code: 429,
        status: 'RESOURCE_EXHAUSTED',
        details: [
          { '@type': 'type.googleapis.com/google.rpc.Help' },
          { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '47.43s' },
        ],
      },
    }),
    47_430,
    'body RetryInfo',
  ],
  [
    'Gemini in an array',
    {},
    json([
      { error: { details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '3s' }] } },
    ]),
    3_000,
    'body RetryInfo',
  ],
  [
    'GitHub Models',
    {},
    json({
      error: {
        code: 'RateLimitReached',
        message:
          'Rate limit of 50 per 86400s exceeded for UserByModelByDay. Please wait 42567 seconds before retrying.',
      },
    }),
    42_567_000,
    'body message',
  ],
  [
    'Cloudflare, until midnight UTC',
    {},
    json({
      errors: [{ code: 4006, message: 'AiError: you have used up your free allocation' }],
      success: false,
    }),
    12 * 3_600_000,
    'body daily allocation',
  ],
  [
    'Cloudflare in words',
    {},
    json({ errors: [{ message: 'You have used up your daily free allocation of 10,000 neurons.' }] }),
    12 * 3_600_000,
    'body daily allocation',
  ],
  ['prose with a space', {}, 'Please try again in 16m 32.64s.', 992_640, 'body message'],
  ['retry-after-ms of 0', { 'retry-after-ms': '0' }, '', 1_000, 'retry-after-ms'],
  ['a window that has just reset', { 'x-ratelimit-reset': '0' }, '', 1_000, 'x-ratelimit-reset'],
  ['prose with 0 seconds', {}, 'try again in 0s', 1_000, 'body message'],
  [
    "OpenRouter, its upstream's message as text",
    {},
    openRouter('Rate limit reached for model `x`. Please try again in 9.5s. Visit the console.'),
    9_500,
    'body message',
  ],
  [
    "OpenRouter, its upstream's message as JSON",
    {},
    openRouter(json({ error: { message: 'Please try again in 9.5s', code: 'rate_limit_exceeded' } })),
    9_500,
    'body message',
  ],
  [
    'OpenRouter, limited upstream for a moment',
    {},
    openRouter('x/y:free is temporarily rate-limited upstream. Please retry shortly, or add your own key'),
    10_000,
    'body message',
  ],
  [
    'Cloudflare, no capacity',
    {},
    json({ errors: [{ code: 3040, message: 'Capacity temporarily exceeded, please try again.' }] }),
    10_000,
    'body capacity',
  ],
  ['Mistral, no capacity', {}, json({ message: 'Service tier capacity exceeded.' }), 10_000, 'body message'],
  [
    'Mistral, a minute without a reset header',
    {
      'x-ratelimit-limit-req-minute': '60',
      'x-ratelimit-remaining-req-minute': '0',
      'ratelimitbysize-reset': '28',
      'ratelimitbysize-remaining': '499000',
    },
    json({ message: 'Requests rate limit exceeded' }),
    60_000,
    'x-ratelimit-remaining-req-minute',
  ],
  [
    'a day and a minute without reset headers',
    { 'x-ratelimit-remaining-requests-day': '0', 'x-ratelimit-remaining-requests-minute': '0' },
    '',
    12 * hourMs,
    'x-ratelimit-remaining-requests-day',
  ],
  [
    'a reset header before the name of a window',
    { 'x-ratelimit-remaining-minute': '0', 'ratelimit-remaining': '0', 'ratelimit-reset': '34' },
    '',
    34_000,
    'ratelimit-reset',
  ],
  [
    'Cohere, calls per minute',
    {},
    json({
      message:
        "You are using a Trial key, which is limited to 10 API calls / minute. You can continue to use the Trial key for free or upgrade to a Production key with higher rate limits at 'https://dashboard.cohere.com/api-keys'.",
    }),
    60_000,
    'body message',
  ],
  [
    'Cohere, calls per month',
    {},
    json({ message: 'You are using a Trial key, which is limited to 1000 API calls / month.' }),
    12 * hourMs,
    'body message',
  ],
  [
    'OpenRouter, the delay of Gemini upstream',
    {},
    openRouter(
      json({
        error: {
          message: 'Resource has been exhausted (e.g. check quota).',
          details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '12s' }],
        },
      }),
    ),
    12_000,
    'body RetryInfo',
  ],
  [
    'OpenRouter, the quota per day of Gemini upstream',
    {},
    openRouter(json(gemini('12s', 'GenerateRequestsPerDayPerProjectPerModel'))),
    20 * hourMs,
    'body daily quota',
  ],
  [
    'Cloudflare, the daily allocation by its code',
    {},
    json({ success: false, errors: [{ code: 3036, message: 'AiError: Account limited' }] }),
    12 * hourMs,
    'body daily allocation',
  ],
  [
    'Bedrock, tokens per day',
    {},
    json({ message: 'Too many tokens per day, please wait before trying again.' }),
    12 * hourMs,
    'body message',
  ],
  ['tokens per day', {}, 'Tokens per day limit exceeded - too many tokens.', 12 * hourMs, 'body message'],
  [
    'Gemini, a quota per day until midnight Pacific, whatever its RetryInfo says',
    { 'retry-after': '23' },
    json([gemini('23s', 'GenerateRequestsPerMinutePerProject', 'GenerateRequestsPerDayPerProject-FreeTier')]),
    20 * hourMs,
    'body daily quota',
  ],
  [
    'Gemini, a quota per minute',
    {},
    json(gemini('23s', 'GenerateRequestsPerMinutePerProjectPerModel-FreeTier')),
    23_000,
    'body RetryInfo',
  ],
  ['prose with two words', {}, 'retry after 1 minute and 30 seconds', 90_000, 'body message'],
  ['prose with a comma', {}, 'Try again in 2 days, 3 hours', 183_600_000, 'body message'],
  [
    'the wait that is meant',
    {},
    'Clients must wait 10 seconds between calls. Please try again in 3 hours.',
    10_800_000,
    'body message',
  ],
  ['prose without JSON', {}, 'Too many requests, try again in 5 minutes', 300_000, 'body message'],
  ['IETF', { ratelimit: '"burst";r=0;t=10, "day";r=7;t=3600' }, '', 10_000, 'ratelimit'],
  ['IETF, older', { RateLimit: 'limit=10, remaining=0, reset=12' }, '', 12_000, 'ratelimit'],
  ['IETF, oldest', { 'ratelimit-reset': '14', 'ratelimit-remaining': '0' }, '', 14_000, 'ratelimit-reset'],
  [
    'an explicit header before body and windows',
    { 'retry-after': '5', 'x-ratelimit-reset': '90' },
    'try again in 70s',
    5_000,
    'retry-after',
  ],
  ['the body before windows', { 'x-ratelimit-reset': '90' }, 'try again in 70s', 70_000, 'body message'],
  [
    'a sound header beside a broken one',
    { 'retry-after': 'soon', 'x-ratelimit-reset': '9' },
    '',
    9_000,
    'x-ratelimit-reset',
  ],
];

describe('a retry hint', () => {
  it.each(hints)('is read: %s', (_name, headers, body, retryAfterMs, source) => {
    expect(readRetryHint({ headers, body }, now)).toEqual({ retryAfterMs, source });
  });

  const none: readonly (readonly [name: string, headers: Record<string, string>, body: string])[] = [
    ['nothing', {}, ''],
    ['a number with exponent', { 'retry-after': '1e3' }, ''],
    ['not a number', { 'retry-after': 'NaN', 'x-ratelimit-reset': 'Infinity' }, ''],
    ['an empty value', { 'retry-after': ' ' }, ''],
    ['a date that has passed', { 'retry-after': 'Sat, 31 Jan 2026 11:58:59 GMT' }, ''],
    ['a day that does not exist', { 'retry-after': 'Mon, 30 Feb 2026 12:00:00 GMT' }, ''],
    ['a date with the wrong weekday', { 'retry-after': 'Mon, 31 Jan 2026 12:00:42 GMT' }, ''],
    ['a date in an invented format', { 'retry-after': '31.01.2026 12:00' }, ''],
    ['an ISO day that does not exist', { 'x-ratelimit-reset': '2026-02-30T12:00:00Z' }, ''],
    ['over a month', { 'retry-after': String(32 * 86_400) }, ''],
    ['an epoch that has passed', { 'x-ratelimit-reset': String(now - 60_001) }, ''],
    ['neither seconds nor epoch', { 'x-ratelimit-reset': '20260131' }, ''],
    ['units in the wrong order', { 'x-ratelimit-reset': '5s3m' }, ''],
    ['a unit twice', { 'x-ratelimit-reset': '5s5s' }, ''],
    ['two values in one header', { 'retry-after': '5, 10' }, ''],
    ['a window with requests left', { 'x-ratelimit-reset': '60', 'x-ratelimit-remaining': '3' }, ''],
    ['a delay long past', { 'retry-after': '-86400' }, ''],
    ['prose without a unit', {}, 'please try again in 5'],
    ['prose without a number', {}, 'please try again in a while'],
    ['prose about something else', {}, 'we waited 30 seconds for the model'],
    ['prose about a wait that is over', {}, 'the request had to wait 120 seconds in queue'],
    ['prose that contradicts itself', {}, 'try again in 5 seconds, or try again in 6 seconds'],
    ['prose with units in the wrong order', {}, 'try again in 30 seconds 2 minutes'],
    ['an hour that no day has', { 'x-ratelimit-reset': '2026-01-15T24:00:00Z' }, ''],
    ['prose with a broken number', {}, 'try again in 5.5.5s'],
    ['an id that looks like a code', {}, json({ error: { id: 4006, message: 'request 4006' } })],
    ['a RetryInfo of the wrong type', {}, json({ error: { details: [{ '@type': 'x', retryDelay: '4s' }] } })],
    [
      'a RetryInfo with garbage',
      {},
      json({ error: { details: [{ '@type': 'google.rpc.RetryInfo', retryDelay: 4 }] } }),
    ],
    ['JSON of other shapes', {}, '[[], null, 3]'],
    ['null', {}, 'null'],
    ['windows of two lengths', {}, 'limited to 10 calls per minute or 1000 calls per month'],
    ['a window that is not a limit', {}, 'we answer most tickets once per day'],
    ['a named window with requests left', { 'x-ratelimit-remaining-req-minute': '3' }, ''],
    ['prose about later', {}, 'Rate limit exceeded, please try again later.'],
    ['a violation without an id', {}, json({ error: { details: [{ violations: [null, {}] }] } })],
  ];
  it.each(none)('is absent: %s', (_name, headers, body) => {
    expect(readRetryHint({ headers, body }, now)).toBeUndefined();
  });

  it('ignores quota headers and prose of a response that is not a limit rejection', () => {
    const headers = { 'x-ratelimit-reset': '60' };
    expect(readRetryHint({ headers, body: 'try again in 5s', isRateLimited: false }, now)).toBeUndefined();
    const explicit = { ...headers, 'retry-after': '3' };
    expect(readRetryHint({ headers: explicit, isRateLimited: false }, now)?.retryAfterMs).toBe(3_000);
  });

  it('is none or a whole number of milliseconds within a month, whatever the server sends', () => {
    const names = [
      'retry-after',
      'retry-after-ms',
      'x-ratelimit-reset',
      'x-ratelimit-reset-tokens',
      'ratelimit',
      'date',
    ];
    const piece = fc.oneof(
      fc.string(),
      fc.double().map(String),
      fc.bigInt().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
      fc.constantFrom('5s', 'try again in ', '9e99', '-', 'r=0;t=', 'Infinity', '1m', '\u0000', '٣'),
    );
    const value = fc.array(piece, { maxLength: 3 }).map((pieces) => pieces.join(''));
    const body = fc.oneof(
      value,
      fc.json(),
      value.map((message) => json({ error: { message } })),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), value), body, (headers, text) => {
        const hint = readRetryHint({ headers, body: text }, now);
        if (hint === undefined) return;
        expect(Number.isInteger(hint.retryAfterMs)).toBe(true);
        expect(hint.retryAfterMs).toBeGreaterThan(0);
        expect(hint.retryAfterMs).toBeLessThanOrEqual(maxHintMs);
      }),
      { numRuns: 2_000 },
    );
  });

  it('finds nothing in text without a digit', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const clean = text.replace(/\d/g, 'x');
        expect(
          readRetryHint({ headers: { 'retry-after': clean, 'x-ratelimit-reset': clean }, body: clean }, now),
        ).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  it.each(['1m', 'a', '1.', ' ', '1 '])('reads a long body of %j without blocking', async (piece) => {
    const body = `try again in 1${piece.repeat(30_000)}_`;
    expect(readRetryHint({ headers: {}, body }, now)).toBeUndefined();
    expect(await repeatedTaskMs(() => readRetryHint({ headers: {}, body }, now))).toBeLessThan(maxTaskMs);
  });
});

describe("Gemini's day", () => {
  it.each([
    ['in winter', '2026-01-31T12:00:00Z', 20],
    ['in summer', '2026-07-31T12:00:00Z', 19],
    ['just before midnight', '2026-01-31T07:59:59Z', 1 / 3_600],
    ['at midnight', '2026-01-31T08:00:00Z', 24],
    ['when clocks go forward', '2026-03-08T08:00:00Z', 23],
    ['when clocks go back', '2026-11-01T07:00:00Z', 25],
  ])('ends at midnight Pacific: %s', (_when, at, hours) => {
    const body = json(gemini('1s', 'GenerateRequestsPerDayPerProjectPerModel-FreeTier'));
    expect(readRetryHint({ headers: {}, body }, Date.parse(at))?.retryAfterMs).toBe(hours * hourMs);
  });
});

describe('a key without quota', () => {
  it('shows as a limit of 0', () => {
    expect(hasNoQuota({ 'X-RateLimit-Limit-Req-Minute': '0' })).toBe(true);
    expect(
      hasNoQuota({ 'x-ratelimit-limit-req-minute': '60', 'x-ratelimit-remaining-req-minute': '0' }),
    ).toBe(false);
    expect(hasNoQuota({})).toBe(false);
  });
});
