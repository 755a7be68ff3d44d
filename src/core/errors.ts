// The base class of all errors, the categories of error codes, the codes that several parts share, the messages for
// invalid input, and the errors that mean a shortage of disk space or open files.
import type { $ZodErrorMap, $ZodRawIssue } from 'zod/v4/core';

export interface HeadworksErrorOptions {
  /** Whether the same call may succeed later. */
  readonly isRetryable?: boolean;
  /** How long to wait before that, if known. */
  readonly retryAfterMs?: number;
  /** Ids, names and numbers; never content, never secrets. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/**
 * An error with a stable `code`. Its message says what happened, to what, and what to do next.
 *
 * @example
 * const retryDelayOf = (error: unknown): number | undefined =>
 *   error instanceof HeadworksError && error.isRetryable ? (error.retryAfterMs ?? 1_000) : undefined;
 */
export class HeadworksError<Code extends string = string> extends Error {
  /** Stable between versions: docs/reference/errors.md lists all. */
  readonly code: Code;
  /** Whether the same call may succeed later. */
  readonly isRetryable: boolean;
  /** How long to wait before that, if known. */
  readonly retryAfterMs: number | undefined;
  /** Ids, names and numbers; never content, never secrets. */
  readonly details: Readonly<Record<string, unknown>>;

  // Domains subclass it with their own codes; HTTP status and exit codes are decided elsewhere.
  constructor(code: Code, message: string, options: HeadworksErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.isRetryable = options.isRetryable ?? false;
    this.retryAfterMs = options.retryAfterMs;
    this.details = options.details ?? {};
  }
}

/**
 * What an error means for the caller. The HTTP status and the exit code of every error code derive from its
 * category; the few exceptions are listed where they are mapped.
 */
export type ErrorCategory =
  /** The input is wrong: change it. */
  | 'invalid_input'
  /** The input is larger than we accept. */
  | 'too_large'
  /** The input is well formed but cannot be processed. */
  | 'unprocessable'
  /** The caller sent its input too slowly. */
  | 'request_timeout'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  /** A rate or concurrency limit is reached: repeat later. */
  | 'limit_reached'
  | 'canceled'
  | 'timeout'
  /** Failed for now, with all dependencies reachable: repeat soon. */
  | 'temporary'
  /** A dependency of ours is down: repeat soon. */
  | 'unavailable'
  /** A dependency rejects Headworks until an administrator changes it. */
  | 'unusable'
  /** A setting is missing or wrong. */
  | 'misconfigured'
  /** A remote server could not be reached or rejected our credentials. */
  | 'unreachable'
  /** A remote server was reached but returned no usable response. */
  | 'upstream_failed'
  | 'storage_full'
  | 'internal';

export interface ErrorCodeSpec {
  readonly category: ErrorCategory;
  /** What the caller can rely on after this error. */
  readonly consequence: string;
}

/** The error codes of one domain. */
export type ErrorCodes = Readonly<Record<string, ErrorCodeSpec>>;

/** Codes that several parts raise. */
export const coreErrorCodes = {
  INPUT_INVALID: {
    category: 'invalid_input',
    consequence: 'The input is not valid; nothing was changed.',
  },
  UNAUTHENTICATED: {
    category: 'unauthenticated',
    consequence: 'The credentials are missing or unknown; nothing was changed.',
  },
  FORBIDDEN: {
    category: 'forbidden',
    consequence: 'The credentials do not permit this; nothing was changed.',
  },
  NOT_FOUND: { category: 'not_found', consequence: 'The resource does not exist for this caller.' },
  CONFLICT: {
    category: 'conflict',
    consequence: 'The resource already exists or is in another state; nothing was changed.',
  },
  CANCELED: {
    category: 'canceled',
    consequence: 'The caller disconnected or canceled; what was accepted before stays accepted.',
  },
  DEADLINE_EXCEEDED: {
    category: 'timeout',
    consequence: 'The timeout expired; the call can be repeated safely.',
  },
  RETRIES_EXHAUSTED: {
    category: 'upstream_failed',
    consequence: 'Every attempt failed; the error lists each of them.',
  },
  CONFIG_INVALID: {
    category: 'misconfigured',
    consequence: 'A setting is not valid; the process does not start and changes nothing.',
  },
  PORT_UNAVAILABLE: {
    category: 'internal',
    consequence: 'The address to listen on is not available; the process does not start.',
  },
  DATA_FOLDER_UNUSABLE: {
    category: 'internal',
    consequence: 'The data folder cannot be used as it is; it was not changed.',
  },
  DATA_FOLDER_BUSY: {
    category: 'temporary',
    consequence: 'Another process holds the data folder; it was not changed.',
  },
  STATE_UNUSABLE: {
    category: 'unusable',
    consequence:
      'The state store cannot be used (privileges, password, version, migrations); the process does not start.',
  },
  STATE_UNAVAILABLE: {
    category: 'unavailable',
    consequence: 'The state store is unavailable; calls that need it fail with 503 until it is back.',
  },
  STATE_NESTED_QUERY: {
    category: 'internal',
    consequence: 'A bug: a query on the database inside an open transaction would deadlock.',
  },
  STATE_LEASE_EXPIRED: {
    category: 'temporary',
    consequence: 'A transaction took too long and was rolled back to free its session.',
  },
  REDIS_UNUSABLE: {
    category: 'unusable',
    consequence: 'Redis cannot be used (wrong kind, password, privileges); the process does not start.',
  },
  REDIS_UNAVAILABLE: {
    category: 'unavailable',
    consequence: 'Redis is unavailable; each domain that uses it degrades as documented.',
  },
  SQLITE_UNUSABLE: {
    category: 'unusable',
    consequence: 'A SQLite file cannot be used (not SQLite, newer, read-only, damaged); it was not changed.',
  },
  SQLITE_BUSY: {
    category: 'temporary',
    consequence: 'Another process locked a SQLite file for too long; nothing was changed, try again.',
  },
  SQLITE_FULL: {
    category: 'storage_full',
    consequence: 'The disk is full; the transaction was rolled back, existing data is intact.',
  },
  SERVER_UNREACHABLE: {
    category: 'unreachable',
    consequence: 'No Headworks server responds at the expected address.',
  },
  CLOSED: {
    category: 'conflict',
    consequence: 'The object of the library was closed before; create another one.',
  },
  SHUTTING_DOWN: {
    category: 'unavailable',
    consequence: 'The server is shutting down; use another one, or retry later.',
  },
  INTERNAL: {
    category: 'internal',
    consequence: 'A bug; the log line with the same request id has the details.',
  },
} as const satisfies ErrorCodes;

export type CoreErrorCode = keyof typeof coreErrorCodes;

/** An error with one of the shared codes. */
export class CoreError extends HeadworksError<CoreErrorCode> {}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  if (typeof error !== 'object' || error === null) return String(error);
  const message: unknown = (error as { message?: unknown }).message;
  return typeof message === 'string' ? message : 'an object without a message';
}

/** The code or class name of any thrown value: short and safe to log. */
export function kindOf(error: unknown): string {
  if (error instanceof HeadworksError) return error.code;
  if (!(error instanceof Error)) return typeof error;
  const code: unknown = (error as { code?: unknown }).code;
  return typeof code === 'string' ? code : error.name;
}

const nouns: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

const formats: Readonly<Record<string, string>> = {
  guid: 'an id, like 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
  base64: 'bytes in base64, nothing else',
  datetime: 'a time in UTC, like 2026-03-01T12:00:00Z',
};

/** Messages for invalid input, as the error map of zod. They follow the field's name; undefined: zod's own is used. */
export const zodErrorMessage: $ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : mustBe(nouns[issue.expected]);
    case 'invalid_format':
      return mustBe(formats[issue.format]);
    case 'invalid_value':
      return mustBe(`${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`);
    case 'unrecognized_keys':
      return 'is not known here';
    case 'too_small':
      return bounded(issue, 'at least', issue.minimum);
    case 'too_big':
      return bounded(issue, 'at most', issue.maximum);
    default:
      return undefined;
  }
};

const mustBe = (what: string | undefined): string | undefined =>
  what === undefined ? undefined : `must be ${what}`;

function bounded(
  { origin, inclusive }: $ZodRawIssue & { readonly origin: string; readonly inclusive?: boolean },
  how: 'at least' | 'at most',
  limit: number | bigint,
): string | undefined {
  if (origin === 'string') return limit === 1 ? 'must not be empty' : `must have ${how} ${limit} characters`;
  if (origin === 'array') return `must have ${how} ${limit} ${limit === 1 ? 'entry' : 'entries'}`;
  if (inclusive === false) return `must be ${how === 'at least' ? 'more' : 'less'} than ${limit}`;
  return `must be ${how} ${limit}`;
}

export type Shortage = 'disk' | 'files' | 'io';

/**
 * Shortages by the code of the operating system, of SQLite, or of Postgres. PGlite reports 58P02 (a file that it could
 * not create exists) when too many files are open.
 */
const shortages: Readonly<Record<string, Shortage>> = {
  ENOSPC: 'disk',
  EDQUOT: 'disk',
  SQLITE_FULL: 'disk',
  53100: 'disk',
  EMFILE: 'files',
  ENFILE: 'files',
  53000: 'files',
  '58P02': 'files',
  58030: 'io',
};

const sqliteFull = 13;

/** The shortage that the error or one of its causes reports; null without one. */
export function shortageOf(error: unknown): Shortage | null {
  const seen = new Set<unknown>();
  for (let at: unknown = error; at instanceof Error && !seen.has(at); at = at.cause) {
    seen.add(at);
    const { code, errcode } = at as { readonly code?: unknown; readonly errcode?: unknown };
    if (typeof errcode === 'number' && (errcode & 0xff) === sqliteFull) return 'disk';
    const shortage = typeof code === 'string' ? shortages[code] : undefined;
    if (shortage !== undefined) return shortage;
  }
  return null;
}

/** What is wrong, to follow the name of what cannot be used; and what to do, in whole sentences. */
export const shortageTexts: Readonly<
  Record<Shortage, { readonly problem: string; readonly remedy: string }>
> = {
  disk: {
    problem: 'has no disk space left',
    remedy: 'Free some space on that disk; nothing needs a restart.',
  },
  io: {
    problem: 'cannot read or write its files',
    remedy: 'Check the disk, and the messages of the operating system about it.',
  },
  files: {
    problem: 'cannot open more files',
    remedy:
      'Raise the limit of open files (ulimit -n, or LimitNOFILE of the service), or reduce what else runs on the machine.',
  },
};
