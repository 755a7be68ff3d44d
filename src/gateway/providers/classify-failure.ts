// Classifies failed provider calls. resilience/http-failure.ts classifies HTTP; this adds the codes and messages of
// model providers for failures without an HTTP status.
import type { HttpFailure } from '../../core/index.ts';
import { parseJson } from '../../core/index.ts';
import type { ErrorResponse, FailureKind, RetryHint } from '../../resilience/index.ts';
import { classifyHttpFailure } from '../../resilience/index.ts';
import type { FailureClass } from '../errors.ts';
import { failureRules } from '../errors.ts';

export interface ClassifiedFailure {
  readonly failureClass: FailureClass;
  /** Status of the response; for an error inside a 200, the status it names. Null when no response came. */
  readonly status: number | null;
  readonly retryHint: RetryHint | undefined;
  /** The provider's message where the request is at fault: not redacted yet, not blank. Otherwise null. */
  readonly message: string | null;
}

const classOfKind = (kind: FailureKind): FailureClass => (kind === 'malformed' ? 'invalid-response' : kind);

/** A call without a response. */
export function classifyFailure(failure: HttpFailure): ClassifiedFailure {
  const { kind } = classifyHttpFailure(failure, 0);
  return { failureClass: classOfKind(kind), status: null, retryHint: undefined, message: null };
}

/** An error response, or an error in the body of a 200. `now` in epoch milliseconds; pure, never throws. */
export function classifyResponse(response: ErrorResponse, now: number): ClassifiedFailure {
  const body = readErrorBody(response.body);
  const status = response.status < 300 && body.isJson ? (statusInBody(body) ?? 500) : response.status;
  const { kind, hint } = classifyHttpFailure({ ...response, status }, now);
  const failureClass = classByRules(status, kind, body) ?? classOfKind(kind);
  const { isCallersFault } = failureRules[failureClass];
  return {
    failureClass,
    status: isCallersFault && status >= 500 ? 400 : status,
    retryHint: hint,
    message: isCallersFault ? messageIn(body) : null,
  };
}

/** Control characters, and those that change the direction of the text behind them. */
const controlCharacters = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;

function messageIn({ messages }: ErrorBody): string | null {
  const cleaned = messages.map((message) => message.replace(controlCharacters, ' ').trim());
  return cleaned.find((text) => text !== '') ?? null;
}

/** The status of an error inside a 200. */
function statusInBody({ status, codes }: ErrorBody): number | undefined {
  if (status !== undefined) return status;
  if (codes.has('invalid_request_error') || codes.has('invalid_argument')) return 400;
  return codes.has('authentication_error') || codes.has('unauthenticated') ? 401 : undefined;
}

function classByRules(status: number, kind: FailureKind, body: ErrorBody): FailureClass | undefined {
  if (status === 405) return 'not-found';
  for (const rule of providerErrorRules) {
    if (!rule.kinds.has(kind)) continue;
    if (rule.statuses?.has(status)) return rule.failureClass;
    for (const code of rule.codes) if (body.codes.has(code)) return rule.failureClass;
    if (rule.messages && body.messages.some((message) => rule.messages?.test(message)))
      return rule.failureClass;
  }
  return undefined;
}

/* ---- error bodies: codes for machines, messages for people ---- */

interface ErrorBody {
  readonly isJson: boolean;
  /** Codes, types, reasons; in lower case. */
  readonly codes: ReadonlySet<string>;
  /** The most specific first. */
  readonly messages: readonly string[];
  /** A status named in the body (OpenRouter: 200 with `error.code: 429`). */
  readonly status: number | undefined;
}

/** Larger bodies are not error messages. */
export const maxErrorBodyBytes = 64 * 1024;
/** The relevant part of a message is at its start, and patterns must not run over pages. */
const maxMessageLength = 2_000;

const codeFields = ['code', 'type', 'status', 'reason', 'statusCode', 'status_code'];
const messageFields = ['message', 'msg', 'detail', 'error', 'title'];
/** Where errors are nested: Azure's innererror, Gemini's details, FastAPI's detail, OpenRouter's metadata.raw. */
const nestedFields = ['error', 'errors', 'detail', 'details', 'innererror', 'metadata', 'raw'];
const maxDepth = 5;

interface Found {
  readonly codes: Set<string>;
  readonly messages: Set<string>;
  status: number | undefined;
}

/** Never throws. Text that is not JSON is one message, unless it is a web page. */
function readErrorBody(body: string): ErrorBody {
  const found: Found = { codes: new Set(), messages: new Set(), status: undefined };
  const json = body.length > maxErrorBodyBytes ? undefined : parseContainer(body);
  if (json === undefined) {
    const text = body.trim();
    const isMessage = text !== '' && text.length <= maxMessageLength && !text.startsWith('<');
    return { isJson: false, codes: found.codes, messages: isMessage ? [text] : [], status: undefined };
  }
  collect(json, found, 0);
  return { isJson: true, codes: found.codes, messages: [...found.messages], status: found.status };
}

function collect(value: unknown, found: Found, depth: number): void {
  if (depth > maxDepth) return;
  if (Array.isArray(value)) {
    for (const item of value.slice(0, 10)) collect(item, found, depth + 1);
    return;
  }
  if (typeof value === 'string') {
    const nested = parseContainer(value);
    if (nested === undefined) found.messages.add(value.slice(0, maxMessageLength));
    else collect(nested, found, depth + 1);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  const object = value as Readonly<Record<string, unknown>>;
  // Nested errors first: "Provider returned error" wraps the error that was returned.
  for (const field of nestedFields)
    if (typeof object[field] === 'object' || field === 'raw') collect(object[field], found, depth + 1);
  for (const field of messageFields)
    if (typeof object[field] === 'string') found.messages.add(object[field].slice(0, maxMessageLength));
  for (const field of codeFields) addCode(object[field], found);
}

function addCode(code: unknown, found: Found): void {
  if (typeof code !== 'string' && typeof code !== 'number') return;
  found.codes.add(String(code).toLowerCase());
  const number = Number(code);
  if (Number.isInteger(number) && number >= 400 && number <= 599) found.status ??= number;
}

/** An object or array; undefined for anything else, numbers and strings included. */
function parseContainer(text: string): object | undefined {
  return /^\s*[[{]/.test(text) ? (parseJson(text) as object | undefined) : undefined;
}

/* ---- the rules ---- */

interface ProviderErrorRule {
  readonly failureClass: FailureClass;
  /** Only failures of these HTTP kinds. */
  readonly kinds: ReadonlySet<FailureKind>;
  readonly statuses?: ReadonlySet<number>;
  /** In lower case. */
  readonly codes: readonly string[];
  readonly messages?: RegExp;
}

const rejections: ReadonlySet<FailureKind> = new Set(['validation', 'authentication', 'not-found']);
const invalidRequest: ReadonlySet<FailureKind> = new Set(['validation']);
/** A code is clear enough whatever the status. */
const anyFailure: ReadonlySet<FailureKind> = new Set([...rejections, 'server-error', 'malformed', 'payment']);

/** The first matching rule wins. */
const providerErrorRules: readonly ProviderErrorRule[] = [
  {
    // OpenAI and Groq return 429 for a request larger than the tokens of a whole minute; waiting does not help.
    failureClass: 'context-too-long',
    kinds: new Set(['rate-limit']),
    codes: [],
    messages: /\brequest too large\b|\btokens must be reduced\b|\breduce your message size\b/i,
  },
  {
    // xAI returns 429 for an account without credit.
    failureClass: 'payment',
    kinds: new Set(['rate-limit']),
    codes: [],
    messages: /\bused all available credits\b|\breached (?:its|your) monthly spending limit\b/i,
  },
  {
    failureClass: 'payment',
    kinds: rejections,
    codes: [
      'insufficient_quota',
      'insufficient_balance',
      'not_enough_balance',
      'billing_hard_limit_reached',
      'billing_not_active',
    ],
    messages:
      /\bcredit balance is too low\b|\b(?:insufficient|not enough) (?:account )?(?:balance|credits?|funds)\b|\baccount (?:is |has been )?suspended\b|\breached your specified API usage limits\b/i,
  },
  {
    failureClass: 'context-too-long',
    kinds: anyFailure,
    statuses: new Set([413]),
    codes: [
      'context_length_exceeded',
      'tokens_limit_reached',
      'max_tokens_per_request',
      'request_too_large',
      'exceed_context_size_error',
      'context_window_exceeded',
      'string_above_max_length',
    ],
  },
  {
    failureClass: 'content-refused',
    kinds: anyFailure,
    codes: [
      'content_filter',
      'content_policy_violation',
      'responsibleaipolicyviolation',
      'moderation_blocked',
      'moderation',
      'data_inspection_failed',
      'prohibited_content',
      'safety',
    ],
  },
  {
    failureClass: 'not-found',
    kinds: anyFailure,
    codes: [
      'model_not_found',
      'model_decommissioned',
      'invalid_model',
      'unknown_model',
      'model_not_supported',
    ],
  },
  {
    // Gemini returns 400 for an invalid key; Groq 400 until the model's terms are accepted.
    failureClass: 'authentication',
    kinds: invalidRequest,
    codes: ['invalid_api_key', 'api_key_invalid', 'model_terms_required'],
    messages: /\b(?:api key not valid|(?:incorrect|invalid) api key|api key expired)\b/i,
  },
  {
    failureClass: 'content-refused',
    kinds: new Set(['validation', 'authentication']),
    codes: [],
    messages:
      /\bcontent (?:management )?policy\b|\bcontent[ _-]filter|\bmoderation\b.*\bflagged\b|\bflagged\b.*\b(?:moderation|policy)\b|\bsafety system\b|\bcontent exists risk\b|\binappropriate content\b/is,
  },
  {
    failureClass: 'context-too-long',
    kinds: invalidRequest,
    codes: [],
    messages:
      /\b(?:max(?:imum)?|exceeds?|exceed(?:ed|s)?) (?:the |this model |this model's |available )*context (?:length|window|size)|\bcontext (?:length|window|size)(?: limit)? (?:is |was )?exceeded|\bexceed(?:s|ed)? (?:the |this |its |available |model(?:'s)? |maximum )*(?:context|input length)|\binput token count\b.*\bexceeds|\btoo many (?:input |prompt )?tokens\b|\b(?:prompt|input|request)(?: body)? (?:is |was )?too (?:long|large)\b|\breduce the length of\b|\btokens\b.*\bmust be <=? ?\d|\btoo large for model\b/is,
  },
  {
    // vLLM, LM Studio, and llama.cpp, which returned 500 until 2025.
    failureClass: 'context-too-long',
    kinds: new Set(['validation', 'server-error']),
    codes: [],
    messages:
      /\bexceeds the available context size\b|\blonger than the maximum model length\b|\bcontext length of only\b/i,
  },
  {
    // The request is too large for this model in another way: it allows a longer completion than the model has.
    failureClass: 'context-too-long',
    kinds: invalidRequest,
    codes: [],
    messages:
      /\bmax_(?:completion_|output_|new_)?tokens\b.{0,40}(?:\btoo (?:large|high|big)\b|\bless than or equal\b|\bat most\b|\bvalid range\b|\bexceed|\d > \d)/is,
  },
  {
    failureClass: 'not-found',
    kinds: invalidRequest,
    codes: [],
    messages:
      /\bnot a valid model id\b|\bmodel identifier is invalid\b|\bno such model\b|\binvalid model\b|\bmodel\b.{0,120}\b(?:does not exist|not found|has been decommissioned)\b/is,
  },
  {
    // OpenRouter: the model exists, but no endpoint supports what the request requires. No reason for a cooldown.
    failureClass: 'validation',
    kinds: new Set(['not-found']),
    codes: [],
    messages: /\bno endpoints found that support\b/i,
  },
];
