// HTTP client of the dashboard. Every failure is an ApiError with a message for the user.
import type { ErrorResponse } from '../../../src/api/fields.ts';
import { withLocalTimes } from '../parts/time-texts.ts';

export type ApiErrorKind = 'logged-out' | 'gone' | 'refused' | 'failed';

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

type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface CallOptions {
  readonly query?: Query;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** Identifies the events of this request on the live stream. */
  readonly requestId?: string;
}

/** A hanging server never responds, so reads and writes have a timeout. Prompts wait for models. */
const readTimeoutMs = 20_000;
const writeTimeoutMs = 180_000;

/** The parsed response. Throws ApiError: `gone` without a response, `logged-out` when the session ended. */
export async function call<T>(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  { query, body, signal, requestId }: CallOptions = {},
): Promise<T> {
  const limit = AbortSignal.timeout(method === 'GET' ? readTimeoutMs : writeTimeoutMs);
  const within = signal ? AbortSignal.any([signal, limit]) : limit;
  const { answer, text } = await ask(method, path + queryText(query), body, within, requestId).catch(
    (error: unknown) => {
      // Canceled by the caller.
      if (signal?.aborted) throw error;
      throw new ApiError(
        'gone',
        'SERVER_GONE',
        'The server is not responding. It may be stopped or restarting.',
      );
    },
  );
  const parsed: unknown = text === '' ? null : parse(text);
  if (answer.ok) return parsed as T;
  throw errorOf(answer, parsed);
}

export const get = <T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> =>
  call<T>('GET', path, { ...(query ? { query } : {}), ...(signal ? { signal } : {}) });

async function ask(
  method: string,
  url: string,
  body: unknown,
  signal: AbortSignal,
  requestId: string | undefined,
): Promise<{ readonly answer: Response; readonly text: string }> {
  const answer = await fetch(url, {
    method,
    headers: {
      // Other sites cannot send this header; the server requires it for changes.
      'x-headworks-dashboard': '1',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(requestId === undefined ? {} : { 'x-request-id': requestId }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal,
  });
  return { answer, text: await answer.text() };
}

function queryText(query: Query = {}): string {
  const given = Object.entries(query).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  );
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function errorOf(answer: Response, parsed: unknown): ApiError {
  const error = errorIn(parsed);
  const requestId = answer.headers.get('x-request-id');
  const message = withLocalTimes(error?.message ?? `The server responded with status ${answer.status}.`);
  const code = error?.code ?? `HTTP_${answer.status}`;
  if (answer.status === 401) return new ApiError('logged-out', code, message, requestId);
  return new ApiError(answer.status < 500 ? 'refused' : 'failed', code, message, requestId);
}

/** The prompts API has an error format of its own. */
function errorIn(parsed: unknown): { readonly code: string; readonly message: string } | undefined {
  const { error, message } = (parsed ?? {}) as {
    readonly error?: ErrorResponse['error'] | string;
    readonly message?: string;
  };
  return typeof error === 'string' ? { code: error, message: message ?? error } : error;
}
