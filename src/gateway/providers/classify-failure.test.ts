// Error responses of real providers and their classes.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxTaskMs, repeatedTaskMs } from '../../../test/support/longest-task.ts';
import { HttpFailure } from '../../core/index.ts';
import type { FailureClass } from '../errors.ts';
import { failureRules } from '../errors.ts';
import { classifyResponse, classifyFailure } from './classify-failure.ts';

const now = Date.UTC(2026, 0, 31, 12);
const classify = (status: number, body: unknown = '', headers: Record<string, string> = {}) =>
  classifyResponse({ status, headers, body: typeof body === 'string' ? body : JSON.stringify(body) }, now);
const openAi = (code: string | null, message: string, type = 'invalid_request_error') => ({
  error: { message, type, param: null, code },
});

type Row = readonly [what: string, status: number, body: unknown, expected: FailureClass];

const byStatus: readonly Row[] = [
  ['a bad request', 400, openAi(null, "'temperature' must be at most 2"), 'validation'],
  [
    'an unprocessable request',
    422,
    { detail: [{ msg: 'field required', loc: ['body', 'messages'] }] },
    'validation',
  ],
  ['a refused key', 401, openAi('invalid_api_key', 'Incorrect API key provided: sk-x'), 'authentication'],
  ['a forbidden key', 403, { error: { message: 'Country not supported' } }, 'authentication'],
  ['no money', 402, { error: { message: 'Insufficient Balance' } }, 'payment'],
  ['an unknown path', 404, '404 page not found', 'not-found'],
  ['a path that takes no POST', 405, 'Method Not Allowed', 'not-found'],
  ['a body too large', 413, '<html>413</html>', 'context-too-long'],
  ['a full window', 429, '', 'rate-limit'],
  ['a server error', 500, 'oops', 'server-error'],
  ['a bad gateway', 502, '<html></html>', 'server-error'],
  ['an overloaded server', 529, { error: { type: 'overloaded_error' } }, 'server-error'],
  ['a gateway timeout', 504, '', 'timeout'],
  ['a redirect', 302, '', 'invalid-response'],
];

const contextTooLong: readonly Row[] = [
  [
    'vLLM, the prompt alone',
    400,
    openAi(
      null,
      'The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.',
    ),
    'context-too-long',
  ],
  [
    'LM Studio',
    400,
    {
      error:
        'Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input',
    },
    'context-too-long',
  ],
  [
    'llama.cpp as a server error',
    500,
    {
      error: {
        code: 500,
        message:
          'the request exceeds the available context size. try increasing the context size or enable context shift',
        type: 'server_error',
      },
    },
    'context-too-long',
  ],
  [
    'OpenAI',
    400,
    openAi(
      'context_length_exceeded',
      "This model's maximum context length is 8192 tokens. However, you requested 9000.",
    ),
    'context-too-long',
  ],
  [
    'vLLM without code',
    400,
    { message: "This model's maximum context length is 4096 tokens.", code: 400 },
    'context-too-long',
  ],
  [
    'Groq, larger than a minute allows',
    413,
    openAi(
      'rate_limit_exceeded',
      'Request too large for model `llama` on tokens per minute (TPM): Limit 6000, Requested 8000',
      'tokens',
    ),
    'context-too-long',
  ],
  [
    'OpenAI, larger than a minute allows',
    429,
    openAi(
      'rate_limit_exceeded',
      'Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000. The input or output tokens must be reduced in order to run successfully.',
      'tokens',
    ),
    'context-too-long',
  ],
  [
    'Groq and Cerebras',
    400,
    openAi(null, 'Please reduce the length of the messages or completion.'),
    'context-too-long',
  ],
  [
    'Gemini',
    400,
    [
      {
        error: {
          code: 400,
          message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
    'context-too-long',
  ],
  [
    'Mistral',
    400,
    {
      object: 'error',
      message: 'Prompt contains 40000 tokens, too large for model with 32768 maximum context length',
      type: 'invalid_request_error',
    },
    'context-too-long',
  ],
  [
    'TGI at HuggingFace',
    422,
    { error: 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000' },
    'context-too-long',
  ],
  [
    'GitHub Models',
    413,
    {
      error: {
        code: 'tokens_limit_reached',
        message: 'Request body too large for gpt-4o-mini model. Max size: 8000 tokens.',
      },
    },
    'context-too-long',
  ],
  [
    'Cloudflare',
    400,
    {
      errors: [
        {
          code: 5021,
          message:
            'The estimated number of input and maximum output tokens (30000) exceeded this model context window limit (24000).',
        },
      ],
    },
    'context-too-long',
  ],
  [
    'Fireworks',
    400,
    { error: { message: 'The prompt is too long: 9000, model maximum context length: 8191' } },
    'context-too-long',
  ],
  [
    'llama.cpp',
    400,
    {
      error: {
        code: 400,
        message: 'the request exceeds the available context size',
        type: 'exceed_context_size_error',
      },
    },
    'context-too-long',
  ],
  ['Ollama', 400, { error: 'the input length exceeds the context length' }, 'context-too-long'],
  [
    'OpenAI, a longer completion than it has',
    400,
    openAi(
      'invalid_value',
      'max_tokens is too large: 100000. This model supports at most 16384 completion tokens.',
    ),
    'context-too-long',
  ],
  [
    'Groq, a longer completion than it has',
    400,
    openAi(null, '`max_completion_tokens` must be less than or equal to `8192`'),
    'context-too-long',
  ],
  [
    'Anthropic, a longer completion than it has',
    400,
    {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens',
      },
    },
    'context-too-long',
  ],
  [
    'DeepSeek, a longer completion than it has',
    400,
    openAi(null, 'Invalid max_tokens value, the valid range of max_tokens is [1, 8192]'),
    'context-too-long',
  ],
  ['too many tokens', 400, { message: 'Too many tokens in the prompt' }, 'context-too-long'],
  [
    'OpenRouter, in what its upstream said',
    400,
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: { raw: '{"error":{"message":"maximum context length is 8192"}}', provider_name: 'X' },
      },
    },
    'context-too-long',
  ],
];

const contentRefused: readonly Row[] = [
  [
    'OpenAI',
    400,
    openAi('content_policy_violation', 'Your request was rejected as a result of our safety system.'),
    'content-refused',
  ],
  [
    'Azure',
    400,
    {
      error: {
        code: 'content_filter',
        message:
          "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        innererror: { code: 'ResponsibleAIPolicyViolation' },
      },
    },
    'content-refused',
  ],
  [
    'Azure, only inside',
    400,
    { error: { code: 'BadRequest', message: 'no', innererror: { code: 'ResponsibleAIPolicyViolation' } } },
    'content-refused',
  ],
  [
    'OpenRouter',
    403,
    {
      error: {
        code: 403,
        message: 'Your chosen model requires moderation and your input was flagged for "violence".',
      },
    },
    'content-refused',
  ],
  ['DeepSeek', 400, openAi('invalid_request_error', 'Content Exists Risk'), 'content-refused'],
  [
    'Alibaba',
    400,
    { error: { code: 'data_inspection_failed', message: 'Input data may contain inappropriate content.' } },
    'content-refused',
  ],
];

const others: readonly Row[] = [
  ['OpenAI, an unknown model', 404, openAi('model_not_found', 'The model `x` does not exist'), 'not-found'],
  [
    'Groq, a retired model',
    400,
    openAi('model_decommissioned', 'The model `x` has been decommissioned'),
    'not-found',
  ],
  [
    'Mistral',
    400,
    { object: 'error', message: 'Invalid model: x', type: 'invalid_model', code: '1500' },
    'not-found',
  ],
  ['OpenRouter', 400, { error: { code: 400, message: 'x/y is not a valid model ID' } }, 'not-found'],
  [
    'HuggingFace',
    400,
    { error: { message: "The requested model 'x' is not supported", code: 'model_not_supported' } },
    'not-found',
  ],
  [
    'OpenRouter, no endpoint runs it with tools',
    404,
    { error: { code: 404, message: 'No endpoints found that support tool use.' } },
    'validation',
  ],
  [
    'Gemini, a wrong key',
    400,
    [
      {
        error: {
          code: 400,
          message: 'API key not valid. Please pass a valid API key.',
          status: 'INVALID_ARGUMENT',
          details: [{ reason: 'API_KEY_INVALID' }],
        },
      },
    ],
    'authentication',
  ],
  ['OpenAI, no quota', 429, openAi('insufficient_quota', 'You exceeded your current quota'), 'payment'],
  ['Mistral, a key without quota', 429, '', 'payment'],
  [
    'Novita, no balance',
    403,
    { code: 403, reason: 'NOT_ENOUGH_BALANCE', message: 'not enough balance' },
    'payment',
  ],
  ['Bedrock, an unknown model', 400, { message: 'The provided model identifier is invalid.' }, 'not-found'],
  [
    'xAI, no credit',
    429,
    {
      code: 'Some resource has been exhausted',
      error:
        'Your team abc has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit.',
    },
    'payment',
  ],
  [
    'Anthropic, a spending limit of the organization',
    400,
    {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message:
          'You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.',
      },
    },
    'payment',
  ],
  [
    'billing, as a bad request',
    400,
    openAi('billing_hard_limit_reached', 'Billing hard limit has been reached'),
    'payment',
  ],
];

/** The defect of the system in the founding document: `500 and "429" in body`. */
const limits: readonly Row[] = [
  ['a rate-limit message', 500, { error: { message: 'Rate limit exceeded, slow down' } }, 'rate-limit'],
  ['a rate-limit status as code', 500, { error: { code: 429, message: 'upstream' } }, 'rate-limit'],
  ['a rate-limit type', 529, { error: { type: 'rate_limit_error', message: 'later' } }, 'rate-limit'],
  ['a rate-limit name as code', 503, { error: { code: 'TooManyRequests', message: 'later' } }, 'rate-limit'],
  ['a rate-limit code in capitals', 500, { error: { code: 'RATE_LIMIT_EXCEEDED' } }, 'rate-limit'],
  [
    'a rate-limit type in a 200',
    200,
    { error: { type: 'rate_limit_error', message: 'later' } },
    'rate-limit',
  ],
  ['a mention of limits', 500, { error: { message: 'See our rate limits page.' } }, 'server-error'],
  [
    'an id that contains 429',
    500,
    { error: { message: 'internal error', request_id: 'req_4291' } },
    'server-error',
  ],
  ['the number of a request, 429', 500, 'request 429 failed', 'server-error'],
  ['a count of 429 rows', 503, { error: { message: '429 rows were read' } }, 'server-error'],
  [
    'an address that contains 429',
    502,
    { error: { message: 'see https://status.example/429' } },
    'server-error',
  ],
];

describe('an error response', () => {
  it.each(byStatus)('is classified by status: %s (%i)', (_what, status, body, expected) => {
    expect(classify(status, body)).toMatchObject({ failureClass: expected, status });
  });
  it.each(contextTooLong)('is context-too-long: %s (%i)', (_what, status, body, expected) => {
    expect(classify(status, body).failureClass).toBe(expected);
  });
  it.each(contentRefused)('is content-refused: %s (%i)', (_what, status, body, expected) => {
    expect(classify(status, body).failureClass).toBe(expected);
  });
  it.each(others)('is classified: %s (%i)', (what, status, body, expected) => {
    const headers: Record<string, string> = what.startsWith('Mistral, a key')
      ? { 'x-ratelimit-limit-req-minute': '0' }
      : {};
    expect(classify(status, body, headers).failureClass).toBe(expected);
  });
  it.each(limits)('is a rate limit: %s (%i)', (_what, status, body, expected) => {
    expect(classify(status, body).failureClass).toBe(expected);
  });

  it.each<Row>([
    ['a field that is too long', 400, openAi(null, "'user' is too long"), 'validation'],
    ['a word about context', 400, openAi(null, 'context must be a string'), 'validation'],
    ['another number that is too large', 400, openAi(null, 'top_k is too large: 100000'), 'validation'],
    ['an unsupported limit', 400, openAi(null, "Unsupported parameter: 'max_tokens'"), 'validation'],
    ['a tool named content_filter', 400, openAi(null, "tools[0]: 'x' is not allowed"), 'validation'],
    [
      'a full window that counts tokens',
      429,
      openAi(
        'rate_limit_exceeded',
        'Rate limit reached for model `x` on tokens per minute (TPM): Limit 6000, Used 5500, Requested 900. Please try again in 4s.',
        'tokens',
      ),
      'rate-limit',
    ],
  ])('is not over-interpreted: %s', (_what, status, body, expected) => {
    expect(classify(status, body).failureClass).toBe(expected);
  });

  it('carries the retry hint', () => {
    expect(classify(429, '', { 'retry-after': '60' }).retryHint).toEqual({
      retryAfterMs: 60_000,
      source: 'retry-after',
    });
    expect(classify(503, '', { 'retry-after': '7' }).retryHint?.retryAfterMs).toBe(7_000);
  });

  it("keeps the provider's message only when the request is at fault", () => {
    expect(classify(400, openAi(null, 'temperature is too high')).message).toBe('temperature is too high');
    expect(classify(401, openAi(null, 'bad key sk-123')).message).toBeNull();
    expect(classify(500, { error: { message: 'stack trace' } }).message).toBeNull();
    expect(classify(400, '<html>nginx</html>').message).toBeNull();
  });

  it('strips control characters from messages and ignores blank ones', () => {
    const steering = 'top\u001b[2J\u0000\u0007 is\u202e bad\n';
    expect(classify(400, openAi(null, steering)).message).toBe('top [2J  is  bad');
    for (const blank of ['', ' \n', '\u0000']) expect(classify(400, openAi(null, blank)).message).toBeNull();
  });
});

describe('an error inside a 200', () => {
  it.each<[unknown, FailureClass, number]>([
    [{ error: { code: 429, message: 'Rate limited upstream' } }, 'rate-limit', 429],
    [{ error: { code: 502, message: 'Provider returned error' } }, 'server-error', 502],
    [{ error: { code: 'context_length_exceeded', message: 'too long' } }, 'context-too-long', 400],
    [{ error: { type: 'invalid_request_error', message: 'bad field' } }, 'validation', 400],
    [{ error: { type: 'authentication_error', message: 'who?' } }, 'authentication', 401],
    [{ error: 'something broke' }, 'server-error', 500],
    [{ error: 'Rate limit reached' }, 'rate-limit', 500],
  ])('%j is %s', (body, failureClass, status) => {
    expect(classify(200, body)).toMatchObject({ failureClass, status });
  });
});

describe('a call without a response', () => {
  it.each<[HttpFailure['kind'], FailureClass]>([
    ['timeout', 'timeout'],
    ['network', 'network'],
    ['too-large', 'invalid-response'],
    ['aborted', 'canceled'],
  ])('%s is %s', (kind, expected) => {
    expect(classifyFailure(new HttpFailure(kind, 'x'))).toEqual({
      failureClass: expected,
      status: null,
      retryHint: undefined,
      message: null,
    });
  });
});

describe('classification', () => {
  it('returns a known class for any input', () => {
    const body = fc.oneof(
      fc.string(),
      fc.json(),
      fc.json().map((inner) => `{"error":{"message":${inner},"metadata":{"raw":${JSON.stringify(inner)}}}}`),
    );
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 599 }), body, (status, text) => {
        const { failureClass, status: shown } = classify(status, text);
        expect(Object.keys(failureRules)).toContain(failureClass);
        if (failureRules[failureClass].isCallersFault) expect(shown).toBeGreaterThanOrEqual(400);
      }),
    );
  });

  it.each(['moderation ', 'tokens ', 'model ', 'exceeds the ', '{"error":'])(
    'reads a long body of %j without blocking',
    async (piece) => {
      const body = JSON.stringify({ error: { message: piece.repeat(6_000) } });
      expect(await repeatedTaskMs(() => classify(400, body))).toBeLessThan(maxTaskMs);
    },
  );
});
