// The one place where errors become exit codes.
import type { AdmissionErrorCode } from '../tenancy/errors.ts';
import type { CoreErrorCode } from '../core/index.ts';
import { HeadworksError } from '../core/index.ts';
import type { DeploymentErrorCode } from '../tenancy/errors.ts';
import type { ExtractionErrorCode } from '../extraction/errors.ts';
import type { GatewayErrorCode } from '../gateway/errors.ts';
import type { KnowledgeErrorCode } from '../knowledge/errors.ts';
import type { LedgerErrorCode } from '../ledger/errors.ts';

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
  ok: 'done; a server was stopped as asked (SIGTERM)',
  error: 'something went wrong',
  usage: 'the configuration or the command line is wrong',
  connection: 'a server or store could not be reached, or refused the credentials',
  incomplete: 'finished, but something is missing or still broken',
  interrupted: 'interrupted (Ctrl-C)',
};

const { error, usage, connection, incomplete, interrupted } = exitCodes;

/** Every code has its place: a new one does not compile until it is here. */
export const exitCodeByErrorCode: Readonly<
  Record<
    | CoreErrorCode
    | LedgerErrorCode
    | ExtractionErrorCode
    | GatewayErrorCode
    | AdmissionErrorCode
    | DeploymentErrorCode
    | KnowledgeErrorCode,
    ExitCode
  >
> = {
  INPUT_INVALID: usage,
  UNAUTHENTICATED: connection,
  FORBIDDEN: connection,
  NOT_FOUND: error,
  CONFLICT: error,
  CANCELED: interrupted,
  DEADLINE_EXCEEDED: error,
  RETRIES_EXHAUSTED: error,
  CONFIG_INVALID: usage,
  PORT_UNAVAILABLE: error,
  DATA_FOLDER_UNUSABLE: error,
  DATA_FOLDER_BUSY: error,
  STATE_UNUSABLE: connection,
  STATE_UNAVAILABLE: connection,
  STATE_NESTED_QUERY: error,
  STATE_LEASE_EXPIRED: error,
  REDIS_UNUSABLE: connection,
  REDIS_UNAVAILABLE: connection,
  SQLITE_UNUSABLE: error,
  SQLITE_BUSY: error,
  SQLITE_FULL: error,
  SERVER_UNREACHABLE: connection,
  SHUTTING_DOWN: connection,
  INTERNAL: error,
  LEDGER_ENTRY_UNKNOWN: error,
  LEDGER_ENTRY_CLOSED: error,
  LEDGER_ENTRY_SEEN_AGAIN: error,
  LEDGER_KIND_UNKNOWN: error,
  LEDGER_REPAIR_UNKNOWN: error,
  LEDGER_REPAIR_TAKEN: error,
  LEDGER_OVERFLOW: error,
  LEDGER_CLOSED: error,
  EXTRACTION_SOURCE_INVALID: usage,
  EXTRACTION_UNREACHABLE: connection,
  EXTRACTION_UNAUTHENTICATED: connection,
  EXTRACTION_VAULT_FOREIGN: usage,
  EXTRACTION_BUSY: error,
  EXTRACTION_ITEM_UNKNOWN: error,
  GATEWAY_MODEL_NOT_FOUND: usage,
  GATEWAY_MODEL_EXISTS: error,
  GATEWAY_NOT_CONFIGURED: usage,
  GATEWAY_CAPABILITY_UNSUPPORTED: usage,
  GATEWAY_ALL_RATE_LIMITED: error,
  GATEWAY_EXHAUSTED: error,
  GATEWAY_REQUEST_REJECTED: error,
  GATEWAY_STREAM_INTERRUPTED: incomplete,
  GATEWAY_KEY_NOT_FOUND: error,
  GATEWAY_TOKEN_CAP_EXCEEDED: error,
  ADMISSION_ORG_LIMIT: error,
  ADMISSION_GLOBAL_LIMIT: error,
  ADMISSION_UNAVAILABLE: connection,
  ADMISSION_NEEDS_REDIS: usage,
  DEPLOYMENT_INACTIVE: error,
  DEPLOYMENT_INPUT_INVALID: usage,
  DEPLOYMENT_UPLOAD_TOO_LARGE: usage,
  DEPLOYMENT_UPLOADS_FULL: error,
  DEPLOYMENT_UPLOAD_TOO_SLOW: error,
  DEPLOYMENT_IDEMPOTENCY_CONFLICT: error,
  DEPLOYMENT_DOCUMENT_UNREADABLE: error,
  DEPLOYMENT_SCHEMA_TOO_SLOW: error,
  DEPLOYMENT_ANSWER_INVALID: error,
  DEPLOYMENT_STOPPED: error,
  KNOWLEDGE_LANGUAGE_UNKNOWN: usage,
  KNOWLEDGE_DOCUMENT_UNREADABLE: error,
  KNOWLEDGE_EMBEDDING_FAILED: error,
  KNOWLEDGE_READING_FAILED: error,
  KNOWLEDGE_CONFIRMATION_FAILED: error,
  KNOWLEDGE_GRAPH_UNAVAILABLE: error,
  KNOWLEDGE_MERGE_IMPOSSIBLE: error,
};

/** The exit code for anything that was thrown. A server newer than this command may know codes that we do not. */
export function exitCodeOf(thrown: unknown): ExitCode {
  const codes: Readonly<Record<string, ExitCode | undefined>> = exitCodeByErrorCode;
  if (!(thrown instanceof HeadworksError)) return error;
  if (Object.hasOwn(codes, thrown.code)) return codes[thrown.code] ?? error;
  // The server did not even look at what we want: wrong host, too many streams.
  return thrown.code.startsWith('HTTP_') ? connection : error;
}
