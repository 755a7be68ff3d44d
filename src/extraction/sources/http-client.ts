// One call of a source's API: with a permit of the rate limiter, limited in time and size, every failure classified.
import type { Clock, HttpResponse as TransportResponse, HttpTransport } from '../../core/index.ts';
import { HttpFailure, messageOf, withTimeout } from '../../core/index.ts';
import type { FailureKind, HttpFailureClass, Permit } from '../../resilience/index.ts';
import { classifyHttpFailure } from '../../resilience/index.ts';
import { ExtractionError, FetchError } from '../errors.ts';
import { parseSmallBody } from '../parsing/json.ts';
import { acceptedEncodings, decode } from './content-encoding.ts';

export interface CallLimits {
  readonly connectMs: number;
  /** Until the first byte of the response. */
  readonly firstByteMs: number;
  /** Between two chunks of the response. */
  readonly idleMs: number;
  /** For the whole call: also ends a response that arrives too slowly. */
  readonly totalMs: number;
  /** The largest accepted response. */
  readonly maxBytes: number;
}

export const defaultCallLimits: CallLimits = {
  connectMs: 10_000,
  firstByteMs: 120_000,
  idleMs: 30_000,
  totalMs: 600_000,
  maxBytes: 64 * 1024 * 1024,
};

export interface HttpCall {
  readonly method?: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Called when the request is written to a connection. */
  readonly onSent?: (() => boolean | void) | undefined;
}

/** Any response, whatever its status. For an error only the beginning of the body is kept. */
export interface HttpResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  /** The call as named in messages: without the query, which may contain secrets. */
  readonly label: string;
}

/** Waits until one more call is permitted; the caller reports its outcome. */
export type PermitProvider = (signal: AbortSignal) => Promise<Permit>;

/** Fails with a FetchError without a response; its kind is `canceled` when the signal aborted. */
export type HttpClient = (call: HttpCall, signal: AbortSignal) => Promise<HttpResponse>;

export interface HttpClientOptions {
  readonly transport: HttpTransport;
  readonly clock: Clock;
  readonly limits?: Partial<CallLimits>;
  /** Called before every call to `origin`. Default: calls need no permit. */
  readonly acquirePermit?: PermitProvider;
  /** Origin of the source. Calls to other origins (token endpoints) do not count against its limit. */
  readonly origin: string;
}

/** Some servers reject calls without one. */
const userAgent = 'headworks';

/** Enough of an error response to find its reason and hints. */
const errorBytes = 64 * 1024;

export function createHttpClient({ acquirePermit, origin, ...options }: HttpClientOptions): HttpClient {
  const send = createUnlimitedClient(options);
  const sendPermitted: HttpClient = async (call, signal) => {
    if (!acquirePermit || call.url.origin !== origin) return send(call, signal);
    for (let voidPermits = 0; ;) {
      const permit = await permitFrom(acquirePermit, signal);
      let isVoid = false;
      const onSent = () => {
        isVoid = !permit.sent();
        if (!isVoid) call.onSent?.();
        return !isVoid;
      };
      try {
        const response = await send({ ...call, onSent }, signal);
        // Reported before the caller decides about a retry: it retries a 429 with a hint at once, and only the limiter waits.
        reportOutcome(permit, response, options.clock.now());
        return response;
      } catch (error) {
        // It was not written to its connection while its permit was valid (L1).
        if (!isVoid || ++voidPermits === maxVoidPermits) throw error;
      } finally {
        // Has no effect after an outcome was reported.
        permit.failed();
      }
    }
  };
  return async (call, signal) => {
    let { url } = call;
    for (let redirects = 0; ; redirects++) {
      const response = await sendPermitted({ ...call, url }, signal);
      const target = redirectOf({ ...call, url }, response);
      // Credentials are for this server only.
      if (target?.origin !== url.origin || redirects === maxRedirects) return response;
      url = target;
    }
  };
}

/** After this many unused permits, connecting always takes longer than a permit is valid. */
const maxVoidPermits = 20;
const maxRedirects = 5;
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function redirectOf({ method = 'GET', url }: HttpCall, { status, headers }: HttpResponse): URL | null {
  const { location } = headers;
  if (method !== 'GET' || !redirectStatuses.has(status) || location === undefined) return null;
  return URL.canParse(location, url.href) ? new URL(location, url) : null;
}

async function permitFrom(acquirePermit: PermitProvider, signal: AbortSignal): Promise<Permit> {
  try {
    return await acquirePermit(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new FetchError(failureOfKind('canceled'), 'Canceled while waiting for the rate limit.', error);
  }
}

function reportOutcome(permit: Permit, response: HttpResponse, now: number): void {
  if (isSuccess(response.status)) return permit.succeeded();
  const { kind, hint } = errorOf(response, now).failure;
  if (kind === 'rate-limit') permit.rateLimited({ retryAfterMs: hint?.retryAfterMs });
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

function createUnlimitedClient({
  transport,
  clock,
  limits: given,
}: Omit<HttpClientOptions, 'acquirePermit' | 'origin'>): HttpClient {
  const limits = { ...defaultCallLimits, ...given };
  return async (call, signal) => {
    const method = call.method ?? 'GET';
    const label = `${method} ${call.url.origin}${call.url.pathname}`;
    const send = async (timeoutSignal: AbortSignal): Promise<HttpResponse> => {
      const received = await transport.request({
        method,
        url: call.url.href,
        headers: { 'accept-encoding': acceptedEncodings, 'user-agent': userAgent, ...call.headers },
        signal: timeoutSignal,
        connectTimeoutMs: limits.connectMs,
        headersTimeoutMs: limits.firstByteMs,
        bodyTimeoutMs: limits.idleMs,
        body: call.body,
        onSent: call.onSent,
      });
      const { status, headers } = received;
      const encoding = headers['content-encoding'];
      if (isSuccess(status)) {
        const bytes = await received.bytes(limits.maxBytes);
        return { status, headers, bytes: await decode(bytes, encoding, limits.maxBytes, label), label };
      }
      const bytes = await firstBytes(received);
      // If the body of an error cannot be decoded, only its reason is lost.
      const text = await decode(bytes, encoding, errorBytes, label).catch(() => new Uint8Array());
      return { status, headers, bytes: text, label };
    };
    const onTimeout = () =>
      new FetchError(failureOfKind('timeout'), `${label}: not finished within ${limits.totalMs} ms.`);
    try {
      return await withTimeout(send, { clock, timeoutMs: limits.totalMs, signal, onTimeout });
    } catch (error) {
      if (signal.aborted) throw new FetchError(failureOfKind('canceled'), `${label} was canceled.`, error);
      if (!(error instanceof HttpFailure)) throw error;
      throw new FetchError(classifyHttpFailure(error, clock.now()), explain(error), error);
    }
  };
}

function explain(error: HttpFailure): string {
  const remedy = ' Request less at once: use a smaller --batch-size and --retry-failed.';
  return messageOf(error) + (error.kind === 'too-large' ? remedy : '');
}

async function firstBytes(response: TransportResponse): Promise<Uint8Array> {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    read.push(chunk);
    size += chunk.byteLength;
    if (size >= errorBytes) break;
  }
  return Buffer.concat(read).subarray(0, errorBytes);
}

/** The credentials of one call. */
export interface Authorization {
  readonly headers: Readonly<Record<string, string>>;
  /** The server responded with 401. True: repeat the call with a new authorization. False: there is no other. */
  reject(): boolean;
}

export interface Authorizer {
  /** Fails as the login that it may need fails, or with the signal's reason. */
  authorize(signal: AbortSignal): Promise<Authorization>;
}

export const noContent = 204;

/**
 * A response without content, or whose body looks like JSON. A 401 is repeated once with a new authorization. Fails with a FetchError; a
 * second 401 is `authentication`.
 */
export async function fetchJson(
  request: HttpCall,
  { call, authorizer, clock }: { call: HttpClient; authorizer: Authorizer; clock: Clock },
  signal: AbortSignal,
): Promise<HttpResponse> {
  for (let isRepeated = false; ; isRepeated = true) {
    const authorization = await authorizationFor(authorizer, signal);
    const headers = { accept: 'application/json', ...request.headers, ...authorization.headers };
    const response = await call({ ...request, headers }, signal);
    if (response.status === 401 && authorization.reject() && !isRepeated) continue;
    if (!isSuccess(response.status)) throw errorOf(response, clock.now());
    if (response.status !== noContent) requireJson(response);
    return { ...response, bytes: withoutByteOrderMark(response.bytes) };
  }
}

async function authorizationFor(authorizer: Authorizer, signal: AbortSignal): Promise<Authorization> {
  try {
    return await authorizer.authorize(signal);
  } catch (error) {
    if (signal.aborted)
      throw new FetchError(failureOfKind('canceled'), 'Canceled while waiting for a login.', error);
    if (error instanceof ExtractionError && error.cause instanceof FetchError)
      throw new FetchError(error.cause.failure, messageOf(error), error);
    throw error;
  }
}

/** A failure without a status. Only a timeout may be over the next time. */
export function failureOfKind(kind: FailureKind, status?: number): HttpFailureClass {
  return { kind, isTransient: kind === 'timeout', status, hint: undefined };
}

/** The error of an error response, with the server's reason if it sent one. */
export function errorOf(response: HttpResponse, now: number): FetchError {
  const body = Buffer.from(response.bytes).toString();
  const { status, headers, label } = response;
  const failure = classifyHttpFailure({ status, headers, body }, now);
  const { location } = headers;
  const isRedirect = redirectStatuses.has(status) && location !== undefined;
  // Without its query, which may contain secrets.
  const reason = isRedirect
    ? `it redirects to ${location.split('?')[0]}, which is not followed`
    : reasonIn(body);
  return new FetchError(failure, `${label} returned ${status}${reason === undefined ? '' : `: ${reason}`}`);
}

/** Fails unless the body begins like JSON. It is parsed in the worker threads. */
function requireJson(response: HttpResponse): void {
  const first = response.bytes.find((byte) => !whitespace.has(byte));
  if (first !== undefined && jsonStarts.has(first)) return;
  const what =
    first === undefined ? 'an empty body' : `${response.headers['content-type'] ?? 'something'}, not JSON`;
  throw new FetchError(failureOfKind('malformed', response.status), `${response.label} returned ${what}.`);
}

/** Space, tab, line feed, carriage return, and the byte order mark of UTF-8. */
const whitespace: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);
/** `[`, `{`, and `n` of null, which some servers return for an empty list. */
const jsonStarts: ReadonlySet<number> = new Set([0x5b, 0x7b, 0x6e]);

/** RFC 8259 forbids it, and some servers send it. */
function withoutByteOrderMark(bytes: Uint8Array): Uint8Array {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

/** The body as an object, or undefined for anything else. */
export function jsonObject(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  const value = parseSmallBody(bytes);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

function reasonIn(body: string): string | undefined {
  const json = jsonObject(Buffer.from(body));
  const reason = [json?.['message'], json?.['error_description'], json?.['error']].find(
    (text) => typeof text === 'string',
  );
  if (typeof reason !== 'string' || reason === '') return undefined;
  // Not truncated: a secret in it must be redacted as a whole first (http-source.ts).
  return reason.replaceAll(/\s+/g, ' ');
}

/** The count in a header, or null. */
export function countIn(header: string | undefined): number | null {
  if (header === undefined || !/^\d{1,15}$/.test(header.trim())) return null;
  return Number(header);
}

/** The absolute URL with `rel="next"` in a Link header (RFC 8288), or null. */
export function nextLinkIn(header: string | undefined, base: URL): string | null {
  for (const [, target = '', parameters = ''] of (header ?? '').matchAll(/<([^<>]*)>([^<]*)/g))
    if (relationsIn(parameters).includes('next') && URL.canParse(target, base.href))
      return new URL(target, base).href;
  return null;
}

/** Reads parameter by parameter, because a quoted title may contain `rel=next`. */
function relationsIn(parameters: string): readonly string[] {
  for (const [, name = '', quoted, plain] of parameters.matchAll(
    /;\s*([^\s=;,"]+)\s*=\s*(?:"([^"]*)"|([^\s;,"]*))/g,
  ))
    if (name.toLowerCase() === 'rel') return (quoted ?? plain ?? '').toLowerCase().split(/\s+/);
  return [];
}
