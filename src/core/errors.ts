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

/** Codes that more than one part raises, each with its consequence. */
export const coreErrorCodes = {
  INPUT_INVALID: 'The caller sent something we cannot accept; nothing was changed.',
  UNAUTHENTICATED: 'No credentials, or credentials nobody knows; nothing was changed.',
  FORBIDDEN: 'The credentials are known but do not reach this; nothing was changed.',
  NOT_FOUND: 'The thing named does not exist for this caller.',
  CONFLICT: 'The thing exists already or is in another state; nothing was changed.',
  CANCELLED: 'The caller went away or stopped it; what was accepted before stays accepted.',
  DEADLINE_EXCEEDED: 'The time that was given ran out; work may be repeated safely.',
  RETRIES_EXHAUSTED: 'Every try failed; the error keeps each of them.',
  CONFIG_INVALID: 'A setting is wrong; the process does not start and touches nothing.',
  PORT_UNAVAILABLE: 'The address to listen on cannot be had; the process does not start.',
  DATA_FOLDER_UNUSABLE: 'The data folder cannot be used as it is; it was not changed.',
  DATA_FOLDER_BUSY: 'Another process holds the data folder; it was not changed.',
  STATE_UNUSABLE: 'The state store refuses us for good (rights, password, version, migrations); not started.',
  STATE_UNAVAILABLE:
    'The state store is away for now; what needs it fails with 503 and comes back by itself.',
  STATE_NESTED_QUERY: 'A bug of ours: a root query inside an open transaction would wait for itself.',
  STATE_LEASE_EXPIRED: 'A transaction took too long and was rolled back so that others can go on.',
  REDIS_UNUSABLE: 'Redis refuses us for good (wrong kind, password, rights); not started.',
  REDIS_UNAVAILABLE: 'Redis is away for now; what depends on it degrades as its domain says.',
  SQLITE_UNUSABLE:
    'A SQLite file cannot be used as it is (no SQLite file, newer, read-only, damaged); it was not changed.',
  SQLITE_BUSY: 'Another process held a SQLite file for too long; nothing was changed, try again.',
  SQLITE_FULL: 'The disk is full; the transaction was rolled back, what was there before is intact.',
  SERVER_UNREACHABLE: 'No Headworks server answers where one was expected.',
  SHUTTING_DOWN: 'The server is draining; ask another one, or again later.',
  INTERNAL: 'A bug of ours; the log line with the same request id tells more.',
} as const;

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
