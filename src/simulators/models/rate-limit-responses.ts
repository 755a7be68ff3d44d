// Rate-limit responses with the messages and headers of real providers.

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

/** How an error response sends its retry hint, each as a real provider does. */
const styles = {
  none: () => ({ headers: {}, body: rateLimited }),
  'retry-after': (seconds: number) => header('retry-after', String(Math.ceil(seconds))),
  'retry-after-decimal': (seconds: number) => header('retry-after', seconds.toFixed(2)),
  'retry-after-date': (seconds: number, now: number) =>
    header('retry-after', new Date(now + seconds * 1_000).toUTCString()),
  'retry-after-ms': (seconds: number) => header('retry-after-ms', String(Math.ceil(seconds * 1_000))),
  'x-ms-retry-after-ms': (seconds: number) =>
    header('x-ms-retry-after-ms', String(Math.ceil(seconds * 1_000))),
  'openai-reset': (seconds: number) => ({
    headers: {
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': goDuration(seconds),
      'x-ratelimit-remaining-tokens': '14000',
      'x-ratelimit-reset-tokens': '6ms',
    },
    body: rateLimited,
  }),
  'groq-reset': (seconds: number) => ({
    headers: { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': goDuration(seconds) },
    body: rateLimited,
  }),
  'groq-prose': (seconds: number) => ({
    headers: {},
    body: errorBody(
      `Rate limit reached for model on tokens per day. Please try again in ${goDuration(seconds)}.`,
    ),
  }),
  'cerebras-reset': (seconds: number) => ({
    headers: {
      'x-ratelimit-remaining-requests-day': '0',
      'x-ratelimit-reset-requests-day': seconds.toFixed(2),
      'x-ratelimit-remaining-tokens-minute': '60000',
      'x-ratelimit-reset-tokens-minute': '11.38',
    },
    body: rateLimited,
  }),
  'sambanova-reset': (seconds: number) => ({
    headers: {
      'x-ratelimit-remaining-requests-day': '0',
      'x-ratelimit-reset-requests-day': goDuration(seconds),
    },
    body: rateLimited,
  }),
  'mistral-reset': (seconds: number) => ({
    headers: { 'ratelimitbysize-remaining': '0', 'ratelimitbysize-reset': String(Math.ceil(seconds)) },
    body: { message: 'Requests rate limit exceeded' },
  }),
  'openrouter-body': (seconds: number, now: number) => ({
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
  'gemini-body': (seconds: number) => ({ headers: {}, body: gemini(seconds) }),
  'gemini-array': (seconds: number) => ({ headers: {}, body: [gemini(seconds)] }),
  'github-prose': (seconds: number) => ({
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
} as const satisfies Readonly<Record<string, (seconds: number, now: number) => RateLimitResponse>>;

type HintStyle = keyof typeof styles;
export const hintStyles = Object.keys(styles) as readonly HintStyle[];

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
