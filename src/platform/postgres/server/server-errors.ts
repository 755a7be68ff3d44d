// Distinguishes a server that is unavailable (wait), one that rejects us (act) and a statement that failed.
import { CoreError, messageOf } from '../../../core/errors.ts';
import { SqlError, sqlErrorFields } from '../sql.ts';

/** Server not reachable, shutting down, starting up, or full. */
const unavailableStates = /^(08...|57P0[123]|53300)$/;

const unavailableCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOENT', // a Unix socket that is not there
]);

/** Texts of pg's own errors, which carry no code. */
const unavailableTexts =
  /^(Connection terminated|timeout expired|timeout exceeded|Query read timeout|Client (was closed|has encountered a connection error)|Cannot use a pool)/;

export const retryAfterMs = 1000;

export function unavailable(target: string, why: string, cause?: unknown, waitMs = retryAfterMs): CoreError {
  return new CoreError(
    'STATE_UNAVAILABLE',
    `The Postgres server (${target}) does not respond: ${why}. Check that a PostgreSQL server runs there and can be reached.`,
    { isRetryable: true, retryAfterMs: waitMs, cause },
  );
}

/** Translates an error of a session. Our own errors are returned unchanged. */
export function translateError(error: unknown, target: string): unknown {
  if (error instanceof CoreError || error instanceof SqlError) return error;
  const fields = sqlErrorFields(error);
  if (fields) {
    if (unavailableStates.test(fields.sqlState)) return unavailable(target, fields.message, error);
    if (fields.sqlState === '57014') return statementStopped(error);
    if (fields.sqlState === '25P03') return idleTooLong(error);
    return rejectedConnection(fields.sqlState, target, error) ?? new SqlError(fields);
  }
  if (isUnavailable(error)) return unavailable(target, shortText(error), error);
  return error;
}

/** Translates a connection failure: unless it is known to be temporary, it is STATE_UNUSABLE. */
export function translateConnectError(error: unknown, target: string): CoreError {
  const translated = translateError(error, target);
  if (translated instanceof CoreError) return translated;
  return unusable(
    `The Postgres server (${target}) cannot be used: ${shortText(error)}.`,
    remedyFor(error),
    error,
  );
}

function rejectedConnection(sqlState: string, target: string, cause: unknown): CoreError | undefined {
  switch (sqlState) {
    case '28P01':
      return unusable(
        `The Postgres server (${target}) refused the password.`,
        'Correct user and password in DATABASE_URL; special characters must be percent-encoded.',
        cause,
      );
    case '28000':
      return unusable(
        `The Postgres server (${target}) does not admit this user: ${messageOf(cause)}.`,
        'Check the role (LOGIN) and pg_hba.conf, or add ?sslmode=require to DATABASE_URL.',
        cause,
      );
    case '3D000':
      return unusable(
        `The Postgres server has no such database (${target}).`,
        'Create it with CREATE DATABASE, or correct its name in DATABASE_URL.',
        cause,
      );
    default:
      return undefined;
  }
}

function remedyFor(error: unknown): string {
  const text = messageOf(error);
  if (/SSL|certificate|self.signed/i.test(text))
    return 'Set sslmode in DATABASE_URL to what the server supports (disable, require, verify-full with sslrootcert).';
  if (/password must be a string/.test(text)) return 'Put the password into DATABASE_URL.';
  if (/permission denied/.test(text)) return 'As its owner: GRANT CONNECT ON DATABASE … TO …;';
  return 'Check that DATABASE_URL names a PostgreSQL server, version 15 or newer.';
}

function unusable(what: string, remedy: string, cause?: unknown): CoreError {
  return new CoreError('STATE_UNUSABLE', `${what} ${remedy}`, cause === undefined ? {} : { cause });
}

/** Version 15 is the oldest that is tested. */
export function tooOld(target: string, version: string): CoreError {
  return unusable(
    `The Postgres server (${target}) has version ${version}; Headworks needs 15 or newer.`,
    'Upgrade the server, or leave DATABASE_URL unset to use the embedded store.',
  );
}

function statementStopped(cause: unknown): CoreError {
  return new CoreError(
    'DEADLINE_EXCEEDED',
    'A statement was stopped by the Postgres server: it reached the statement timeout, or an administrator stopped it.',
    { isRetryable: true, cause },
  );
}

function idleTooLong(cause: unknown): CoreError {
  return new CoreError(
    'STATE_LEASE_EXPIRED',
    'The Postgres server rolled a transaction back because it was idle for too long.',
    { isRetryable: true, cause },
  );
}

function isUnavailable(error: unknown): boolean {
  const code = codeOf(error);
  return (code !== undefined && unavailableCodes.has(code)) || unavailableTexts.test(messageOf(error));
}

/** A failed connection to a name with several addresses has an empty message, but a code. */
const shortText = (error: unknown): string => messageOf(error) || (codeOf(error) ?? 'no reason given');

function codeOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : undefined;
}
