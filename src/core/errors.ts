// The one base class of our errors, and the codes that every part of the system shares.

export interface HeadworksErrorOptions {
  /** Would the same call, made again later, have a chance? */
  readonly isRetryable?: boolean;
  /** How long to wait before that, if anybody knows. */
  readonly retryAfterMs?: number;
  /** Ids, names and numbers that help; never content, never secrets. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/**
 * An error with a stable `code`. Its message says what happened, to what, and what to do next.
 * Domains subclass it with their own codes; HTTP status and exit codes are decided elsewhere.
 */
export class HeadworksError<Code extends string = string> extends Error {
  readonly code: Code;
  readonly isRetryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly details: Readonly<Record<string, unknown>>;

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
 * What an error means for whoever made the call. The HTTP status and the exit code of every error code derive from its
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
  /** A dependency rejects us until somebody changes it. */
  | 'unusable'
  /** A setting is missing or wrong. */
  | 'misconfigured'
  /** A remote server could not be reached or rejected our credentials. */
  | 'unreachable'
  /** A remote server was reached and gave no usable response. */
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

/** Codes that more than one part raises, each with its consequence. */
export const coreErrorCodes = {
  INPUT_INVALID: {
    category: 'invalid_input',
    consequence: 'The caller sent something we cannot accept; nothing was changed.',
  },
  UNAUTHENTICATED: {
    category: 'unauthenticated',
    consequence: 'No credentials, or credentials nobody knows; nothing was changed.',
  },
  FORBIDDEN: {
    category: 'forbidden',
    consequence: 'The credentials are known but do not reach this; nothing was changed.',
  },
  NOT_FOUND: { category: 'not_found', consequence: 'The thing named does not exist for this caller.' },
  CONFLICT: {
    category: 'conflict',
    consequence: 'The thing exists already or is in another state; nothing was changed.',
  },
  CANCELED: {
    category: 'canceled',
    consequence: 'The caller went away or stopped it; what was accepted before stays accepted.',
  },
  DEADLINE_EXCEEDED: {
    category: 'timeout',
    consequence: 'The time that was given ran out; work may be repeated safely.',
  },
  RETRIES_EXHAUSTED: {
    category: 'upstream_failed',
    consequence: 'Every try failed; the error keeps each of them.',
  },
  CONFIG_INVALID: {
    category: 'misconfigured',
    consequence: 'A setting is wrong; the process does not start and touches nothing.',
  },
  PORT_UNAVAILABLE: {
    category: 'internal',
    consequence: 'The address to listen on cannot be had; the process does not start.',
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
    consequence: 'The state store refuses us for good (rights, password, version, migrations); not started.',
  },
  STATE_UNAVAILABLE: {
    category: 'unavailable',
    consequence: 'The state store is away for now; what needs it fails with 503 and comes back by itself.',
  },
  STATE_NESTED_QUERY: {
    category: 'internal',
    consequence: 'A bug of ours: a root query inside an open transaction would wait for itself.',
  },
  STATE_LEASE_EXPIRED: {
    category: 'temporary',
    consequence: 'A transaction took too long and was rolled back so that others can go on.',
  },
  REDIS_UNUSABLE: {
    category: 'unusable',
    consequence: 'Redis refuses us for good (wrong kind, password, rights); not started.',
  },
  REDIS_UNAVAILABLE: {
    category: 'unavailable',
    consequence: 'Redis is away for now; what depends on it degrades as its domain says.',
  },
  SQLITE_UNUSABLE: {
    category: 'unusable',
    consequence:
      'A SQLite file cannot be used as it is (no SQLite file, newer, read-only, damaged); it was not changed.',
  },
  SQLITE_BUSY: {
    category: 'temporary',
    consequence: 'Another process held a SQLite file for too long; nothing was changed, try again.',
  },
  SQLITE_FULL: {
    category: 'storage_full',
    consequence: 'The disk is full; the transaction was rolled back, what was there before is intact.',
  },
  SERVER_UNREACHABLE: {
    category: 'unreachable',
    consequence: 'No Headworks server answers where one was expected.',
  },
  SHUTTING_DOWN: {
    category: 'unavailable',
    consequence: 'The server is draining; ask another one, or again later.',
  },
  INTERNAL: {
    category: 'internal',
    consequence: 'A bug of ours; the log line with the same request id tells more.',
  },
} as const satisfies ErrorCodes;

export type CoreErrorCode = keyof typeof coreErrorCodes;

/** An error with one of the shared codes. */
export class CoreError extends HeadworksError<CoreErrorCode> {}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  if (typeof error !== 'object' || error === null) return String(error);
  const message: unknown = (error as { message?: unknown }).message;
  return typeof message === 'string' ? message : 'an object without a message';
}

/** The class name or code of anything that was thrown: short, and safe to log. */
export function kindOf(error: unknown): string {
  if (error instanceof HeadworksError) return error.code;
  if (!(error instanceof Error)) return typeof error;
  const code: unknown = (error as { code?: unknown }).code;
  return typeof code === 'string' ? code : error.name;
}
