// headworks/client: the typed client of the HTTP API, for programs outside of Headworks. Runs in Node and in browsers.
import type { ApiArguments, ApiResponse, ApiRoute, ApiTransport } from '../api/client.ts';
import { callApi } from '../api/client.ts';

export type { ApiInput, ApiResponse, ApiRoute } from '../api/client.ts';

/**
 * Settings of {@link createClient}.
 *
 * @example const options: ClientOptions = { baseUrl: 'http://127.0.0.1:8420', token: 'admin token of the server' };
 */
export interface ClientOptions {
  /** Address of the server, without a path. */
  readonly baseUrl: string;
  /** Admin token, gateway key or organization key. Without one only public operations work. */
  readonly token?: string | undefined;
  /** Milliseconds until a call fails with `TIMEOUT`. Default: 60,000. */
  readonly timeoutMs?: number;
  /** Replaces the global `fetch`, for example in tests. */
  readonly fetch?: typeof fetch;
}

/**
 * A call that failed. `code` is stable; `message` says what happened and what to do.
 *
 * @example
 * const client = createClient({ baseUrl: 'http://127.0.0.1:8420', token: 'admin token of the server' });
 * await client.call('GET /api/v1/ledger').catch((error: unknown) => {
 *   if (!(error instanceof ApiCallError) || error.code !== 'UNREACHABLE') throw error;
 * });
 */
export class ApiCallError extends Error {
  override readonly name = 'ApiCallError';
  /** Error code of the server, or `UNREACHABLE`, `TIMEOUT` or `INVALID_RESPONSE`. */
  readonly code: string;
  /** HTTP status; null without a response. */
  readonly status: number | null;
  /** Identifies the request in the server's log. */
  readonly requestId: string | null;
  /** Milliseconds after which a retry may succeed, if the server sent it. */
  readonly retryAfterMs: number | null;

  constructor(
    code: string,
    message: string,
    details: Partial<Pick<ApiCallError, 'status' | 'requestId' | 'retryAfterMs' | 'cause'>> = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.status = details.status ?? null;
    this.requestId = details.requestId ?? null;
    this.retryAfterMs = details.retryAfterMs ?? null;
  }
}

/**
 * Calls operations of one server.
 *
 * @example
 * const client: HeadworksClient = createClient({ baseUrl: 'http://127.0.0.1:8420', token: 'admin token of the server' });
 * const { entries } = await client.call('GET /api/v1/ledger', { query: { state: 'open' } });
 */
export interface HeadworksClient {
  /** Calls an operation by its route; parameters, body and response have the types of that operation. */
  call<Route extends ApiRoute>(route: Route, ...input: ApiArguments<Route>): Promise<ApiResponse<Route>>;
}

/**
 * Creates a client. It holds no connection of its own and needs no closing.
 *
 * @example
 * const client = createClient({ baseUrl: 'http://127.0.0.1:8420', token: 'admin token of the server' });
 * const { kinds } = await client.call('GET /api/v1/ledger/kinds');
 */
export function createClient(options: ClientOptions): HeadworksClient {
  const transport: ApiTransport = {
    call: (method, path, { query = {}, body, signal } = {}) =>
      send(options, method, urlOf(options.baseUrl, path, query), body, signal),
  };
  return { call: (route, ...input) => callApi(transport, route, ...input) };
}

type Query = NonNullable<Parameters<ApiTransport['call']>[2]>['query'];

function urlOf(baseUrl: string, path: string, query: NonNullable<Query>): URL {
  const url = new URL(path, baseUrl);
  for (const [name, value] of Object.entries(query))
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== undefined && each !== null) url.searchParams.append(name, String(each));
  return url;
}

async function send<T>(
  { token, timeoutMs = 60_000, fetch: request = globalThis.fetch }: ClientOptions,
  method: string,
  url: URL,
  body: unknown,
  signal: AbortSignal | undefined,
): Promise<T> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await request(url, {
      method,
      headers: {
        accept: 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    return await parse<T>(response);
  } catch (error) {
    if (error instanceof ApiCallError || signal?.aborted) throw error;
    if (timeout.aborted)
      throw new ApiCallError('TIMEOUT', `${url.origin} did not respond within ${timeoutMs} ms.`, {
        cause: error,
      });
    throw new ApiCallError(
      'UNREACHABLE',
      `Could not connect to ${url.origin}. Check that the server is running.`,
      {
        cause: error,
      },
    );
  }
}

async function parse<T>(response: Response): Promise<T> {
  const text = await response.text();
  const json = parseJson(text);
  if (response.ok && json !== undefined) return json as T;
  const { error } = (json ?? {}) as {
    readonly error?: { readonly code?: string; readonly message?: string };
  };
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  throw new ApiCallError(
    error?.code ?? (response.ok ? 'INVALID_RESPONSE' : `HTTP_${response.status}`),
    error?.message ?? `${response.url} responded with status ${response.status} and no JSON.`,
    {
      status: response.status,
      requestId: response.headers.get('x-request-id'),
      retryAfterMs: Number.isFinite(retryAfter) ? retryAfter * 1_000 : null,
    },
  );
}

/** Null for an empty body (204), undefined for anything that is not JSON. */
function parseJson(text: string): unknown {
  if (text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
