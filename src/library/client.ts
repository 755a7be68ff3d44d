// headworks/client: the typed client of the HTTP API, for programs outside of Headworks. Runs in Node and in browsers.
import type { ApiArguments, ApiResponse, ApiRoute, ApiTransport } from '../api/client.ts';
import { callApi, pathParameters } from '../api/client.ts';
import { HeadworksError } from '../core/errors.ts';
import { unknownOption } from '../core/text.ts';

export { HeadworksError } from '../core/errors.ts';
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
 * A call that failed. `code` is the server's, or `UNREACHABLE`, `TIMEOUT`, `INVALID_RESPONSE` or `INPUT_INVALID`.
 *
 * @example
 * const client = createClient({ baseUrl: 'http://127.0.0.1:8420', token: 'admin token of the server' });
 * await client.call('GET /api/v1/ledger').catch((error: unknown) => {
 *   if (!(error instanceof ApiCallError) || error.code !== 'UNREACHABLE') throw error;
 * });
 */
export class ApiCallError extends HeadworksError {
  /** HTTP status; null without a response. */
  readonly status: number | null;
  /** Identifies the request in the server's log. */
  readonly requestId: string | null;

  constructor(
    code: string,
    message: string,
    options: Partial<
      Pick<ApiCallError, 'status' | 'requestId' | 'isRetryable' | 'retryAfterMs' | 'details' | 'cause'>
    > = {},
  ) {
    super(code, message, options);
    this.status = options.status ?? null;
    this.requestId = options.requestId ?? null;
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
  /**
   * Calls an operation by its route; parameters, body and response have the types of that operation. The body is sent as
   * JSON, or as a form with files if it is a `FormData`. Fails with an {@link ApiCallError}, or with the reason of the
   * signal when that aborts.
   */
  call<Route extends ApiRoute>(route: Route, ...input: ApiArguments<Route>): Promise<ApiResponse<Route>>;
}

/**
 * Creates a client. It holds no connection of its own and needs no closing. Throws INPUT_INVALID for an invalid option.
 *
 * @example
 * const client = createClient({ baseUrl: 'http://127.0.0.1:8420', token: 'admin token of the server' });
 * const { kinds } = await client.call('GET /api/v1/ledger/kinds');
 */
export function createClient(options: ClientOptions): HeadworksClient {
  checkOptions(options);
  const transport: ApiTransport = {
    call: (method, path, { query = {}, body, signal } = {}) =>
      send(options, method, urlOf(options.baseUrl, path, query), bodyOf(body), signal),
  };
  return {
    call: async (route, ...input) => {
      checkCall(route, input[0]);
      return callApi(transport, route, ...input);
    },
  };
}

/* ---- input; without zod, so that the client stays small in a browser ---- */

const invalid = (problem: string): ApiCallError => new ApiCallError('INPUT_INVALID', `${problem}.`);

function checkObject(subject: string, given: unknown, known: readonly string[]): Record<string, unknown> {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw invalid(`${subject} must be an object with ${known.join(', ')}`);
  return given as Record<string, unknown>;
}

function checkKeys(subject: string, given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) throw invalid(`${subject} ${unknownOption(unknown, known)}`);
}

function checkOptions(options: unknown): void {
  const known = ['baseUrl', 'token', 'timeoutMs', 'fetch'];
  const given = checkObject('The argument of createClient', options, known);
  checkKeys('createClient', given, known);
  const { baseUrl, token, timeoutMs = 1, fetch: request = fetch } = given;
  const protocol = typeof baseUrl === 'string' ? URL.parse(baseUrl)?.protocol : undefined;
  if (protocol !== 'http:' && protocol !== 'https:')
    throw invalid('baseUrl must be an http or https address, like http://127.0.0.1:8420');
  if (token !== undefined && (typeof token !== 'string' || token === ''))
    throw invalid('token must be text that is not empty');
  if (!Number.isInteger(timeoutMs) || Number(timeoutMs) < 1 || Number(timeoutMs) > maxTimeoutMs)
    throw invalid(`timeoutMs must be a whole number from 1 to ${maxTimeoutMs}`);
  if (typeof request !== 'function') throw invalid('fetch must be a function');
}

/** A longer timer fires at once. */
const maxTimeoutMs = 2_147_483_647;

function checkCall(route: unknown, given: unknown = {}): void {
  if (typeof route !== 'string' || !/^(?:GET|POST|PUT|PATCH|DELETE) \/\S*$/.test(route))
    throw invalid('route must be a method and a path, like "GET /api/v1/ledger"');
  const known = ['params', 'query', 'body', 'signal'];
  const input = checkObject('input', given, known);
  checkKeys('call', input, known);
  const { params = {}, query = {}, signal } = input;
  const names = pathParameters(route);
  const values = checkObject('params', params, names);
  checkKeys('params', values, names);
  for (const name of names)
    if (!isText(values[name]) || values[name] === '')
      throw invalid(`params.${name} must be text that is not empty, or a number`);
  for (const [name, value] of Object.entries(checkObject('query', query, ['the parameters of the route'])))
    if (value !== undefined && typeof value !== 'boolean' && ![value].flat().every(isText))
      throw invalid(`query.${name} must be text, a number, true, false, or a list of texts`);
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw invalid('signal must be an AbortSignal');
}

const isText = (value: unknown): boolean => typeof value === 'string' || Number.isFinite(value);

type Query = NonNullable<Parameters<ApiTransport['call']>[2]>['query'];

function urlOf(baseUrl: string, path: string, query: NonNullable<Query>): URL {
  const url = new URL(path, baseUrl);
  for (const [name, value] of Object.entries(query))
    for (const each of [value].flat()) if (each !== undefined) url.searchParams.append(name, String(each));
  return url;
}

function bodyOf(body: unknown): string | FormData | undefined {
  if (body === undefined || body instanceof FormData) return body;
  try {
    const json: string | undefined = JSON.stringify(body);
    if (json !== undefined) return json;
  } catch {
    // A loop of references, or a bigint.
  }
  throw invalid('body must be a value that JSON can hold, or a FormData');
}

/* ---- requests ---- */

async function send<T>(
  { token, timeoutMs = 60_000, fetch: request = globalThis.fetch }: ClientOptions,
  method: string,
  url: URL,
  body: string | FormData | undefined,
  signal: AbortSignal | undefined,
): Promise<T> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await request(url, {
      method,
      headers: {
        accept: 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        // The type of a form has a boundary, which fetch adds.
        ...(typeof body === 'string' ? { 'content-type': 'application/json' } : {}),
      },
      body: body ?? null,
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    return await parse<T>(response);
  } catch (cause) {
    if (cause instanceof ApiCallError || signal?.aborted) throw cause;
    const options = { isRetryable: true, cause };
    throw timeout.aborted
      ? new ApiCallError('TIMEOUT', `${url.origin} did not respond within ${timeoutMs} ms.`, options)
      : new ApiCallError(
          'UNREACHABLE',
          `Could not connect to ${url.origin}. Check that the server is running.`,
          options,
        );
  }
}

/** Statuses after which the same call may succeed. */
const retryableStatuses = [408, 429, 502, 503, 504];

async function parse<T>(response: Response): Promise<T> {
  const { ok, status, headers, url } = response;
  const json = parseJson(await response.text());
  if (ok && json !== undefined) return json as T;
  const { code, message, details } = problemIn(json);
  const retryAfter = Number(headers.get('retry-after') ?? Number.NaN);
  throw new ApiCallError(
    code ?? (ok ? 'INVALID_RESPONSE' : `HTTP_${status}`),
    message ?? `${url} responded with status ${status} and no JSON.`,
    {
      status,
      requestId: headers.get('x-request-id'),
      isRetryable: retryableStatuses.includes(status),
      ...(Number.isFinite(retryAfter) ? { retryAfterMs: retryAfter * 1_000 } : {}),
      ...(details === undefined ? {} : { details }),
    },
  );
}

interface Problem {
  readonly code?: string;
  readonly message?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The error of a response: ours, the tenant API's (`errors`), or OpenAI's with our code in addition. */
function problemIn(json: unknown): Problem {
  const { error, errors } = (json ?? {}) as {
    readonly error?: Problem & { readonly headworks_code?: string };
    readonly errors?: readonly { readonly code: string; readonly detail: string; readonly attr: unknown }[];
  };
  const [first] = Array.isArray(errors) ? errors : [];
  if (first) return { code: first.code, message: first.detail, details: { attr: first.attr } };
  return { ...error, ...(error?.headworks_code === undefined ? {} : { code: error.headworks_code }) };
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
