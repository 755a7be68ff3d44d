// HTTP client of the dashboard. Every failure is an ApiError with a message for the user.
import type { ApiArguments, ApiResponse, ApiRoute, ApiTransport } from '../../../src/api/client.ts';
import { callApi } from '../../../src/api/client.ts';
import type { ErrorResponse } from '../../../src/api/fields.ts';
import { withLocalTimes } from '../components/time-texts.ts';

export type ApiErrorKind = 'logged-out' | 'unreachable' | 'not-found' | 'rejected' | 'failed';

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly kind: ApiErrorKind;
  readonly code: string;
  readonly requestId: string | null;

  constructor(kind: ApiErrorKind, code: string, message: string, requestId: string | null = null) {
    super(message);
    this.kind = kind;
    this.code = code;
    this.requestId = requestId;
  }
}

/** A hanging server never responds, so reads and writes have a timeout. Prompts wait for models. */
const readTimeoutMs = 20_000;
const writeTimeoutMs = 180_000;

/**
 * Calls an operation. Throws ApiError: `unreachable` without a response, `logged-out` when the session ended.
 *
 * @example const { entries } = await api('GET /api/v1/ledger', { query: { state: 'open' } });
 */
export const api = <Route extends ApiRoute>(
  route: Route,
  ...input: ApiArguments<Route>
): Promise<ApiResponse<Route>> => callApi(transport(), route, ...input);

type Call = Parameters<ApiTransport['call']>;

/** `requestId` identifies the events of a request on the live stream. */
export const transport = (requestId?: string): ApiTransport => ({
  async call<T>(...[method, path, { query, body, signal } = {}]: Call): Promise<T> {
    const timeout = AbortSignal.timeout(method === 'GET' ? readTimeoutMs : writeTimeoutMs);
    const response = await request(path + queryText(query), {
      method,
      headers: {
        // Other sites cannot send this header; the server requires it for changes.
        'x-headworks-dashboard': '1',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(requestId === undefined ? {} : { 'x-request-id': requestId }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    }).catch((error: unknown) => {
      // Canceled by the caller.
      if (signal?.aborted) throw error;
      throw new ApiError(
        'unreachable',
        'SERVER_UNREACHABLE',
        'The server is not responding. It may be stopped or restarting.',
      );
    });
    if (response.ok) return response.body as T;
    throw errorOf(response);
  },
});

interface ParsedResponse extends Pick<Response, 'ok' | 'status' | 'headers'> {
  /** Null without JSON. */
  readonly body: unknown;
}

async function request(url: string, init: RequestInit): Promise<ParsedResponse> {
  const response = await fetch(url, init);
  const { ok, status, headers } = response;
  return { ok, status, headers, body: parse(await response.text()) };
}

function queryText(query: NonNullable<Call[2]>['query'] = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [value].flat().map((item) => [name, String(item)]),
  );
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function errorOf({ status, headers, body }: ParsedResponse): ApiError {
  const error = errorIn(body);
  const requestId = headers.get('x-request-id');
  const message = withLocalTimes(error?.message ?? `The server responded with status ${status}.`);
  const code = error?.code ?? `HTTP_${status}`;
  if (status === 401) return new ApiError('logged-out', code, message, requestId);
  const kind = status === 404 ? 'not-found' : status < 500 ? 'rejected' : 'failed';
  return new ApiError(kind, code, message, requestId);
}

/** The prompts API has an error format of its own. */
function errorIn(body: unknown): { readonly code: string; readonly message: string } | undefined {
  const { error, message } = (body ?? {}) as {
    readonly error?: ErrorResponse['error'] | string;
    readonly message?: string;
  };
  return typeof error === 'string' ? { code: error, message: message ?? error } : error;
}
