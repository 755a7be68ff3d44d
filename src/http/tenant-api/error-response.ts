// Error responses of the tenant API, in the shape of the founding document.
import type { z } from 'zod';
import type { TenantError } from '../../api/tenant.ts';
import type { Usage } from '../../tenancy/index.ts';
import { AdmissionError } from '../../tenancy/index.ts';
import { toErrorResponse } from '../errors.ts';

interface TenantErrorResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: z.output<typeof TenantError>;
  /** A bug: it is logged. */
  readonly isUnexpected: boolean;
}

/** Codes of drf-standardized-errors, which has this shape. */
const codesByStatus: Readonly<Record<number, string>> = {
  400: 'invalid',
  401: 'authentication_failed',
  403: 'permission_denied',
  404: 'not_found',
  405: 'method_not_allowed',
  415: 'unsupported_media_type',
  429: 'error',
  500: 'error',
};

/** Organizations must not see stores and models: log and events have the message. */
const internal = /^(STATE|REDIS|SQLITE|DATA_FOLDER|ADMISSION|GATEWAY)_/;
const notAvailable = 'The service is not available at the moment. Please try again in a few moments.';

/** Messages without the settings that the original ones name. */
const neutral: Readonly<Partial<Record<string, string>>> = {
  HTTP_HOST_NOT_ALLOWED: 'This server is not known by the host name of the URL.',
  HTTP_ORIGIN_NOT_ALLOWED: 'Web pages of other origins must not call this server.',
};

/** Replaces a message that organizations must not see. The messages of both limits are for them. */
function tenantMessageOf(code: string, status: number): string | undefined {
  return neutral[code] ?? (status >= 500 && internal.test(code) ? notAvailable : undefined);
}

/** Never throws. */
export function tenantErrorOf(thrown: unknown, requestId: string): TenantErrorResponse {
  const { status, body, retryAfterHeader, isUnexpected } = toErrorResponse(thrown, requestId);
  const { code, message, details } = body.error;
  const itemCode = codesByStatus[status] ?? code.toLowerCase();
  const rejected = thrown instanceof AdmissionError && status === 429 ? thrown : undefined;
  const items = problemsIn(details).map(({ attr, detail }) => ({ code: itemCode, detail, attr }));
  return {
    status,
    isUnexpected,
    headers: {
      ...(retryAfterHeader === undefined ? {} : { 'retry-after': retryAfterHeader }),
      ...rateLimitHeaders(rejected?.usage, retryAfterHeader),
    },
    body: {
      type: status >= 500 ? 'server_error' : status === 400 ? 'validation_error' : 'client_error',
      errors:
        items.length > 0
          ? items
          : [{ code: itemCode, detail: tenantMessageOf(code, status) ?? message, attr: fieldIn(details) }],
    },
  };
}

/** As in draft-ietf-httpapi-ratelimit-headers, with the organization's own numbers only. */
function rateLimitHeaders(
  usage: Usage | undefined,
  retryAfterSeconds: string | undefined,
): Readonly<Record<string, string>> {
  if (!usage) return {};
  const left = Math.max(0, usage.organizationLimit - usage.organization);
  return {
    'ratelimit-policy': `"org";q=${usage.organizationLimit};qu="concurrent-requests"`,
    // At the global limit an organization may have slots left, which does not change with time.
    ratelimit: left > 0 ? `"org";r=${left}` : `"org";r=0;t=${retryAfterSeconds ?? '1'}`,
  };
}

interface Problem {
  readonly attr: string;
  readonly detail: string;
}

function problemsIn(details: Readonly<Record<string, unknown>> | undefined): readonly Problem[] {
  const problems = details?.['problems'];
  if (!Array.isArray(problems)) return [];
  return (problems as readonly { readonly field?: unknown; readonly message?: unknown }[]).map(
    ({ field, message }) => ({
      attr: String(field).replace(/^(query|body|path|headers)\./, ''),
      detail: String(message),
    }),
  );
}

function fieldIn(details: Readonly<Record<string, unknown>> | undefined): string | null {
  const field = details?.['field'];
  return typeof field === 'string' ? field : null;
}
