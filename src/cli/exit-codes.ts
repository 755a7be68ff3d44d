// Errors as exit codes.
import type { ErrorCategory, ErrorCodes } from '../core/index.ts';
import { coreErrorCodes, HeadworksError } from '../core/index.ts';
import { extractionErrorCodes } from '../extraction/errors.ts';
import { gatewayErrorCodes } from '../gateway/errors.ts';
import { knowledgeErrorCodes } from '../knowledge/errors.ts';
import { ledgerErrorCodes } from '../ledger/errors.ts';
import { admissionErrorCodes, deploymentErrorCodes } from '../tenancy/errors.ts';

export const exitCodes = {
  ok: 0,
  error: 1,
  usage: 2,
  connection: 3,
  incomplete: 4,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** As `--help` shows them. */
export const exitCodeMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  ok: 'success; a server was stopped with SIGTERM',
  error: 'an error occurred',
  usage: 'the configuration or the command line is wrong',
  connection: 'a server or store could not be reached, or rejected the credentials',
  incomplete: 'finished, but incomplete or degraded',
  interrupted: 'interrupted (Ctrl-C)',
};

const { error, usage, connection, incomplete, interrupted } = exitCodes;

const allCodes: ErrorCodes = {
  ...coreErrorCodes,
  ...ledgerErrorCodes,
  ...extractionErrorCodes,
  ...gatewayErrorCodes,
  ...admissionErrorCodes,
  ...deploymentErrorCodes,
  ...knowledgeErrorCodes,
};

const exitCodeByCategory: Readonly<Record<ErrorCategory, ExitCode>> = {
  invalid_input: usage,
  too_large: usage,
  misconfigured: usage,
  unauthenticated: connection,
  forbidden: connection,
  unavailable: connection,
  unusable: connection,
  unreachable: connection,
  canceled: interrupted,
  not_found: error,
  conflict: error,
  unprocessable: error,
  limit_reached: error,
  request_timeout: error,
  timeout: error,
  temporary: error,
  upstream_failed: error,
  storage_full: error,
  internal: error,
};

/** Codes whose exit code differs from that of their category. */
const exitCodeByCode: Readonly<Record<string, ExitCode>> = {
  EXTRACTION_VAULT_OF_OTHER_SOURCE: usage,
  GATEWAY_MODEL_NOT_FOUND: usage,
  GATEWAY_REQUEST_REJECTED: error,
  GATEWAY_STREAM_INTERRUPTED: incomplete,
  SQLITE_UNUSABLE: error,
};

/** An invalid command line. The report adds where the help is. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The exit code for anything that was thrown. A newer server may send codes that are unknown here. */
export function exitCodeOf(thrown: unknown): ExitCode {
  if (!(thrown instanceof HeadworksError)) return error;
  const { code } = thrown;
  if (Object.hasOwn(exitCodeByCode, code)) return exitCodeByCode[code] ?? error;
  const spec = Object.hasOwn(allCodes, code) ? allCodes[code] : undefined;
  if (spec) return exitCodeByCategory[spec.category];
  // The server rejected the request itself: wrong host, too many streams.
  return code.startsWith('HTTP_') ? connection : error;
}
