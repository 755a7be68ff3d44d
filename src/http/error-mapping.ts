// Which HTTP status each error code means. The types demand an entry for every code of core and every domain.
import type { AdmissionErrorCode } from '../tenancy/index.ts';
import type { CoreErrorCode } from '../core/index.ts';
import type { DeploymentErrorCode } from '../tenancy/index.ts';
import type { ExtractionErrorCode } from '../extraction/index.ts';
import type { GatewayErrorCode } from '../gateway/index.ts';
import type { KnowledgeErrorCode } from '../knowledge/index.ts';
import type { LedgerErrorCode } from '../ledger/index.ts';
import type { HttpErrorCode } from './errors.ts';

export type KnownErrorCode =
  | CoreErrorCode
  | LedgerErrorCode
  | ExtractionErrorCode
  | GatewayErrorCode
  | AdmissionErrorCode
  | DeploymentErrorCode
  | KnowledgeErrorCode
  | HttpErrorCode;

export interface ErrorAnswerRule {
  readonly status: number;
  /** Said in Retry-After when the error itself does not know better. */
  readonly retryAfterMs?: number;
}

const soon = 2_000;

export const errorMapping: Readonly<Record<KnownErrorCode, ErrorAnswerRule>> = {
  INPUT_INVALID: { status: 400 },
  UNAUTHENTICATED: { status: 401 },
  FORBIDDEN: { status: 403 },
  NOT_FOUND: { status: 404 },
  CONFLICT: { status: 409 },
  // Nobody hears it: the caller is gone. 499 is what proxies log for that.
  CANCELED: { status: 499 },
  DEADLINE_EXCEEDED: { status: 504 },
  RETRIES_EXHAUSTED: { status: 502 },
  CONFIG_INVALID: { status: 500 },
  PORT_UNAVAILABLE: { status: 500 },
  DATA_FOLDER_UNUSABLE: { status: 500 },
  DATA_FOLDER_BUSY: { status: 503, retryAfterMs: soon },
  STATE_UNUSABLE: { status: 503 },
  STATE_UNAVAILABLE: { status: 503, retryAfterMs: soon },
  STATE_NESTED_QUERY: { status: 500 },
  STATE_LEASE_EXPIRED: { status: 503, retryAfterMs: soon },
  REDIS_UNUSABLE: { status: 503 },
  REDIS_UNAVAILABLE: { status: 503, retryAfterMs: soon },
  SQLITE_UNUSABLE: { status: 503 },
  SQLITE_BUSY: { status: 503, retryAfterMs: soon },
  SQLITE_FULL: { status: 507 },
  SERVER_UNREACHABLE: { status: 502 },
  SHUTTING_DOWN: { status: 503, retryAfterMs: soon },
  INTERNAL: { status: 500 },

  LEDGER_ENTRY_UNKNOWN: { status: 404 },
  LEDGER_ENTRY_CLOSED: { status: 409 },
  LEDGER_ENTRY_SEEN_AGAIN: { status: 409 },
  LEDGER_KIND_UNKNOWN: { status: 404 },
  LEDGER_REPAIR_UNKNOWN: { status: 409 },
  LEDGER_REPAIR_TAKEN: { status: 500 },
  LEDGER_OVERFLOW: { status: 503, retryAfterMs: soon },
  LEDGER_CLOSED: { status: 503, retryAfterMs: soon },

  EXTRACTION_SOURCE_INVALID: { status: 400 },
  EXTRACTION_UNREACHABLE: { status: 502 },
  EXTRACTION_UNAUTHENTICATED: { status: 502 },
  EXTRACTION_VAULT_FOREIGN: { status: 409 },
  EXTRACTION_BUSY: { status: 409 },
  EXTRACTION_ITEM_UNKNOWN: { status: 404 },

  GATEWAY_MODEL_NOT_FOUND: { status: 404 },
  GATEWAY_MODEL_EXISTS: { status: 409 },
  GATEWAY_NOT_CONFIGURED: { status: 503 },
  GATEWAY_CAPABILITY_UNSUPPORTED: { status: 400 },
  GATEWAY_ALL_RATE_LIMITED: { status: 429 },
  GATEWAY_EXHAUSTED: { status: 503 },
  // The error knows better: it carries the status that the models gave.
  GATEWAY_REQUEST_REJECTED: { status: 400 },
  GATEWAY_STREAM_INTERRUPTED: { status: 502 },
  GATEWAY_KEY_NOT_FOUND: { status: 404 },
  GATEWAY_TOKEN_CAP_EXCEEDED: { status: 429 },

  ADMISSION_ORG_LIMIT: { status: 429, retryAfterMs: soon },
  ADMISSION_GLOBAL_LIMIT: { status: 429, retryAfterMs: soon },
  ADMISSION_UNAVAILABLE: { status: 503, retryAfterMs: soon },
  ADMISSION_NEEDS_REDIS: { status: 503 },

  DEPLOYMENT_INACTIVE: { status: 409 },
  DEPLOYMENT_INPUT_INVALID: { status: 400 },
  DEPLOYMENT_UPLOAD_TOO_LARGE: { status: 413 },
  DEPLOYMENT_UPLOADS_FULL: { status: 503, retryAfterMs: soon },
  DEPLOYMENT_UPLOAD_TOO_SLOW: { status: 408 },
  DEPLOYMENT_IDEMPOTENCY_CONFLICT: { status: 409 },
  // These end an execution, not a request; they are its state, answered with 200.
  DEPLOYMENT_DOCUMENT_UNREADABLE: { status: 422 },
  DEPLOYMENT_SCHEMA_TOO_SLOW: { status: 422 },
  DEPLOYMENT_ANSWER_INVALID: { status: 502 },
  DEPLOYMENT_STOPPED: { status: 409 },

  KNOWLEDGE_LANGUAGE_UNKNOWN: { status: 400 },
  KNOWLEDGE_DOCUMENT_UNREADABLE: { status: 422 },
  KNOWLEDGE_EMBEDDING_FAILED: { status: 503, retryAfterMs: soon },
  KNOWLEDGE_READING_FAILED: { status: 503, retryAfterMs: soon },
  KNOWLEDGE_CONFIRMATION_FAILED: { status: 503, retryAfterMs: soon },
  KNOWLEDGE_GRAPH_UNAVAILABLE: { status: 503, retryAfterMs: soon },
  KNOWLEDGE_MERGE_IMPOSSIBLE: { status: 409 },

  HTTP_HOST_NOT_ALLOWED: { status: 421 },
  HTTP_ORIGIN_NOT_ALLOWED: { status: 403 },
  HTTP_METHOD_NOT_ALLOWED: { status: 405 },
  HTTP_BODY_TOO_LARGE: { status: 413 },
  HTTP_CONTENT_TYPE_UNSUPPORTED: { status: 415 },
  HTTP_REQUEST_TOO_SLOW: { status: 408 },
  HTTP_HEADERS_TOO_LARGE: { status: 431 },
  HTTP_TOO_MANY_STREAMS: { status: 503, retryAfterMs: 10_000 },
};

export function isKnownErrorCode(code: string): code is KnownErrorCode {
  return Object.hasOwn(errorMapping, code);
}
