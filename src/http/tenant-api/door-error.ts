// Error answers of the door, in the shape that the founding document gives them.
import type { Usage } from '../../tenancy/index.ts';
import { AdmissionError } from '../../tenancy/index.ts';
import { toErrorResponse } from '../errors.ts';

export interface DoorErrorItem {
  readonly code: string;
  readonly detail: string;
  /** The field it is about. */
  readonly attr: string | null;
}

export interface DoorErrorBody {
  readonly type: 'client_error' | 'validation_error' | 'server_error';
  readonly errors: readonly DoorErrorItem[];
}

export interface DoorErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: DoorErrorBody;
  /** A bug of ours: the log tells it. */
  readonly isUnexpected: boolean;
}

/** The words of the shape's inventors (drf-standardized-errors), where they have one. */
const wordsByStatus: Readonly<Record<number, string>> = {
  400: 'invalid',
  401: 'authentication_failed',
  403: 'permission_denied',
  404: 'not_found',
  405: 'method_not_allowed',
  415: 'unsupported_media_type',
  429: 'error',
  500: 'error',
};

/** Where our stores are and which models we have is nothing for organizations: log and events tell it. */
const inside = /^(STATE|REDIS|SQLITE|DATA_FOLDER|ADMISSION|GATEWAY)_/;
const notAvailable = 'The service is not available at the moment. Please try again in a few moments.';

/** These would tell strangers what to set. */
const neutral: Readonly<Partial<Record<string, string>>> = {
  HTTP_HOST_NOT_ALLOWED: 'This server is not known by the name in the address.',
  HTTP_ORIGIN_NOT_ALLOWED: 'Web pages of other origins may not call this server.',
};

/** Instead of a message that is not for organizations. The two refusals of admission are: they come as they are. */
function tenantTextOf(code: string, status: number): string | undefined {
  return neutral[code] ?? (status >= 500 && inside.test(code) ? notAvailable : undefined);
}

/** Never throws, whatever it is given. */
export function doorErrorOf(thrown: unknown, requestId: string): DoorErrorAnswer {
  const { status, body, retryAfterHeader, isUnexpected } = toErrorResponse(thrown, requestId);
  const { code, message, details } = body.error;
  const word = wordsByStatus[status] ?? code.toLowerCase();
  const refused = thrown instanceof AdmissionError && status === 429 ? thrown : undefined;
  const items = problemsIn(details).map(({ attr, detail }) => ({ code: word, detail, attr }));
  return {
    status,
    isUnexpected,
    headers: {
      ...(retryAfterHeader === undefined ? {} : { 'retry-after': retryAfterHeader }),
      ...rateLimitHeaders(refused?.usage, retryAfterHeader),
    },
    body: {
      type: status >= 500 ? 'server_error' : status === 400 ? 'validation_error' : 'client_error',
      errors:
        items.length > 0
          ? items
          : [{ code: word, detail: tenantTextOf(code, status) ?? message, attr: fieldIn(details) }],
    },
  };
}

/** As in draft-ietf-httpapi-ratelimit-headers. Only the organization's own: what others do is nobody's business. */
function rateLimitHeaders(
  usage: Usage | undefined,
  retryAfterSeconds: string | undefined,
): Readonly<Record<string, string>> {
  if (!usage) return {};
  const left = Math.max(0, usage.organizationLimit - usage.organization);
  return {
    'ratelimit-policy': `"org";q=${usage.organizationLimit};qu="concurrent-requests"`,
    // At the limit of all an organization may have slots left of its own, which a wait does not change.
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
