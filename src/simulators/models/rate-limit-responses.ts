// Rate-limit responses with the messages and headers of real providers.
import type { HintStyle } from './scenario.ts';

export interface RateLimitResponse {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

const errorBody = (message: string, more: Readonly<Record<string, unknown>> = {}) => ({
  error: { message, type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded', ...more },
});
const rateLimited = errorBody('Rate limit reached for requests.');
const header = (name: string, value: string): RateLimitResponse => ({
  headers: { [name]: value },
  body: rateLimited,
});

/** `16m32.64s`, as Go writes durations. */
export function goDuration(seconds: number): string {
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor((seconds % 3_600) / 60);
  const rest = Number((seconds % 60).toFixed(3));
  return `${hours > 0 ? `${hours}h` : ''}${minutes > 0 || hours > 0 ? `${minutes}m` : ''}${rest}s`;
}

const styles: Readonly<Record<HintStyle, (seconds: number, now: number) => RateLimitResponse>> = {
  none: () => ({ headers: {}, body: rateLimited }),
  'retry-after': (seconds) => header('retry-after', String(Math.ceil(seconds))),
  'retry-after-decimal': (seconds) => header('retry-after', seconds.toFixed(2)),
  'retry-after-date': (seconds, now) => header('retry-after', new Date(now + seconds * 1_000).toUTCString()),
  'retry-after-ms': (seconds) => header('retry-after-ms', String(Math.ceil(seconds * 1_000))),
  'x-ms-retry-after-ms': (seconds) => header('x-ms-retry-after-ms', String(Math.ceil(seconds * 1_000))),
  'openai-reset': (seconds) => ({
    headers: {
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': goDuration(seconds),
      'x-ratelimit-remaining-tokens': '14000',
      'x-ratelimit-reset-tokens': '6ms',
    },
    body: rateLimited,
  }),
  'groq-reset': (seconds) => ({
    headers: { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': goDuration(seconds) },
    body: rateLimited,
  }),
  'groq-prose': (seconds) => ({
    headers: {},
    body: errorBody(
      `Rate limit reached for model on tokens per day. Please try again in ${goDuration(seconds)}.`,
    ),
  }),
  'cerebras-reset': (seconds) => ({
    headers: {
      'x-ratelimit-remaining-requests-day': '0',
      'x-ratelimit-reset-requests-day': seconds.toFixed(2),
      'x-ratelimit-remaining-tokens-minute': '60000',
      'x-ratelimit-reset-tokens-minute': '11.38',
    },
    body: rateLimited,
  }),
  'sambanova-reset': (seconds) => ({
    headers: {
      'x-ratelimit-remaining-requests-day': '0',
      'x-ratelimit-reset-requests-day': goDuration(seconds),
    },
    body: rateLimited,
  }),
  'mistral-reset': (seconds) => ({
    headers: { 'ratelimitbysize-remaining': '0', 'ratelimitbysize-reset': String(Math.ceil(seconds)) },
    body: { message: 'Requests rate limit exceeded' },
  }),
  'openrouter-body': (seconds, now) => ({
    headers: {},
    body: {
      error: {
        code: 429,
        message: 'Rate limit exceeded: free-models-per-min.',
        metadata: {
          headers: {
            'X-RateLimit-Limit': '16',
            'X-RateLimit-Remaining': '0',
            'X-RateLimit-Reset': String(now + Math.ceil(seconds * 1_000)),
          },
        },
      },
    },
  }),
  'gemini-body': (seconds) => ({ headers: {}, body: gemini(seconds) }),
  'gemini-array': (seconds) => ({ headers: {}, body: [gemini(seconds)] }),
  'github-prose': (seconds) => ({
    headers: {},
    body: {
      error: {
        code: 'RateLimitReached',
        message: `Rate limit of 150 per 86400s exceeded for UserByModelByDay. Please wait ${Math.ceil(seconds)} seconds before retrying.`,
      },
    },
  }),
  'cloudflare-day': () => ({
    headers: {},
    body: {
      success: false,
      result: null,
      errors: [
        {
          code: 4006,
          message: 'Rate limit reached: you have used up your daily free allocation of 10,000 neurons',
        },
      ],
    },
  }),
};

function gemini(seconds: number): unknown {
  return {
    error: {
      code: 429,
      message: 'You exceeded your current quota.',
      status: 'RESOURCE_EXHAUSTED',
      details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${seconds}s` }],
    },
  };
}

/** `now` is the wall clock in epoch milliseconds. */
export function rateLimitResponse(style: HintStyle, seconds: number, now: number): RateLimitResponse {
  return styles[style](seconds, now);
}
