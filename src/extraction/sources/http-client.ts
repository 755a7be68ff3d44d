// One call of somebody's API: with leave of the rate limiter, bounded in time and size, every failure in its class.
import type { Clock, HttpAnswer, HttpTransport } from '../../core/index.ts';
import { HttpFailure, messageOf } from '../../core/index.ts';
import type { FailureKind, HttpFailureClass, Permit } from '../../resilience/index.ts';
import { classifyHttpFailure, withDeadline } from '../../resilience/index.ts';
import { ExtractionError, FetchError } from '../errors.ts';

export interface CallLimits {
  readonly connectMs: number;
  /** Longest wait for the answer's first byte. */
  readonly firstByteMs: number;
  /** Longest silence in the middle of an answer. */
  readonly silenceMs: number;
  /** Longest time for the whole call: also ends an answer that drips for ever. */
  readonly totalMs: number;
  /** Largest answer that is taken in. */
  readonly maxBytes: number;
}

export const defaultCallLimits: CallLimits = {
  connectMs: 10_000,
  firstByteMs: 120_000,
  silenceMs: 30_000,
  totalMs: 600_000,
  maxBytes: 64 * 1024 * 1024,
};

export interface Call {
  readonly method?: 'GET' | 'HEAD' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Called when it permits. */
  readonly onSent?: () => void;
}

/** Waits until one more call may be made. Its outcome is the caller's to tell. */
export type PermitProvider = (signal: AbortSignal) => Promise<Permit>;

/** Fails with a FetchError when no answer came, `cancelled` when the signal stopped it. */
export type Caller = (call: Call, signal: AbortSignal) => Promise<HttpResponse>;

export interface CallerOptions {
  readonly transport: HttpTransport;
  readonly clock: Clock;
  readonly limits?: Partial<CallLimits>;
  /** Asked before every call to `origin`, whatever it is for. Default: calls need no leave. */
  readonly acquirePermit?: PermitProvider | undefined;
  /** The source's own server: a token that another one gives out is no call of the source. */
  readonly origin: string;
}

/** Enough of a refusal to find its reason and hints in. */
const refusalBytes = 64 * 1024;

export function createCaller({ acquirePermit, origin, ...options }: CallerOptions): Caller {
  const ask = createUnlimitedCaller(options);
  return async (call, signal) => {
    if (!acquirePermit || call.url.origin !== origin) return ask(call, signal);
    const permit = await given(acquirePermit, signal);
    try {
      const sent = () => {
        permit.sent();
        call.onSent?.();
      };
      const answer = await ask({ ...call, onSent: sent }, signal);
      report(permit, answer, options.clock.now());
      return answer;
    } finally {
      // Tells nothing if something was told.
      permit.failed();
    }
  };
}

async function given(acquirePermit: PermitProvider, signal: AbortSignal): Promise<Permit> {
  try {
    return await acquirePermit(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new FetchError(failureOfKind('canceled'), 'It was stopped while it waited for its turn.', error);
  }
}

function report(permit: Permit, answer: HttpResponse, now: number): void {
  if (isGood(answer.status)) return permit.succeeded();
  const { kind, hint } = refusal(answer, now).failure;
  if (kind === 'rate-limit') permit.rateLimited({ retryAfterMs: hint?.retryAfterMs });
}

const isGood = (status: number): boolean => status >= 200 && status < 300;

function createUnlimitedCaller({
  transport,
  clock,
  limits: given,
}: Omit<CallerOptions, 'leave' | 'origin'>): Caller {
  const limits = { ...defaultCallLimits, ...given };
  return async (call, signal) => {
    const method = call.method ?? 'GET';
    const label = `${method} ${call.url.origin}${call.url.pathname}`;
    const deadline = withDeadline(signal, limits.totalMs, clock, label);
    try {
      const answer = await transport.request({
        method,
        url: call.url.href,
        headers: call.headers,
        signal: deadline.signal,
        connectTimeoutMs: limits.connectMs,
        headersTimeoutMs: limits.firstByteMs,
        bodyTimeoutMs: limits.silenceMs,
        ...(call.body === undefined ? {} : { body: call.body }),
        ...(call.onSent ? { onSent: call.onSent } : {}),
      });
      const bytes = isGood(answer.status) ? await answer.bytes(limits.maxBytes) : await firstBytes(answer);
      return { status: answer.status, headers: answer.headers, bytes, label };
    } catch (error) {
      if (!(error instanceof HttpFailure)) throw error;
      const isLate = deadline.signal.aborted && !signal.aborted;
      throw isLate
        ? new FetchError(
            failureOfKind('timeout'),
            `${label}: not finished within ${limits.totalMs} ms.`,
            error,
          )
        : new FetchError(classifyHttpFailure(error, clock.now()), explained(error), error);
    } finally {
      deadline.dispose();
    }
  };
}

function explained(error: HttpFailure): string {
  const remedy = ' Ask for less at once: use a smaller --batch-size and --retry-failed.';
  return messageOf(error) + (error.kind === 'too-large' ? remedy : '');
}

async function firstBytes(answer: HttpAnswer): Promise<Uint8Array> {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const piece of answer.body) {
    read.push(piece);
    size += piece.byteLength;
    if (size >= refusalBytes) break;
  }
  return Buffer.concat(read).subarray(0, refusalBytes);
}

// A content call: authorized, asked again once after a 401, and refused answers turned into failures.

export interface JsonFetcher {
  readonly call: Caller;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
}

export interface JsonCall {
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** Called when a call permits; a second time when it is asked again. */
  readonly onSent?: (() => void) | undefined;
}

/** An answer whose body is JSON, by its look. Fails with a FetchError; a second 401 is `authentication`. */
export async function fetchJson(
  { call, authorizer, clock }: JsonFetcher,
  { url, headers, onSent }: JsonCall,
  signal: AbortSignal,
): Promise<HttpResponse> {
  for (let isSecondTry = false; ; isSecondTry = true) {
    const authorize = await authorizationFor(authorizer, signal);
    const answer = await call(
      {
        url,
        headers: { accept: 'application/json', ...headers, ...authorize.headers },
        ...(onSent ? { onSent } : {}),
      },
      signal,
    );
    if (answer.status === 401 && authorize.refused() && !isSecondTry) continue;
    if (answer.status < 200 || answer.status > 299) throw refusal(answer, clock.now());
    requireJson(answer);
    return answer;
  }
}

async function authorizationFor(authorizer: Authorizer, signal: AbortSignal): Promise<Authorization> {
  try {
    return await authorizer.authorize(signal);
  } catch (error) {
    if (signal.aborted)
      throw new FetchError(failureOfKind('canceled'), 'It was stopped while it waited for a login.', error);
    if (error instanceof ExtractionError && error.cause instanceof FetchError)
      throw new FetchError(error.cause.failure, messageOf(error), error);
    throw error;
  }
}

// What came back from a call.

/** Any answer, whatever its status. Of a refusal only the first part of the body is kept. */
export interface HttpResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  /** The call as messages name it: without query, which may hold secrets. */
  readonly label: string;
}

// Failures of a call, made from answers that are not the one hoped for.

/** A class for what no status tells. A timeout may be over the next time; nothing else of this kind is. */
export function failureOfKind(kind: FailureKind, status?: number): HttpFailureClass {
  return { kind, isTransient: kind === 'timeout', status, hint: undefined };
}

/** The failure that a refused answer is, with the server's own reason if it gave one. */
export function refusal(answer: HttpResponse, now: number): FetchError {
  const body = Buffer.from(answer.bytes).toString();
  const failure = classifyHttpFailure({ status: answer.status, headers: answer.headers, body }, now);
  const reason = reasonIn(body);
  return new FetchError(
    failure,
    `${answer.label} was answered with ${answer.status}${reason === undefined ? '' : `: ${reason}`}`,
  );
}

/** Fails unless the body begins as JSON does. It is not parsed here: that is the worker threads' part. */
export function requireJson(answer: HttpResponse): void {
  const first = answer.bytes.find((byte) => !whitespace.has(byte));
  if (first !== undefined && beginnings.has(first)) return;
  const what =
    first === undefined ? 'an empty body' : `${answer.headers['content-type'] ?? 'something'}, not JSON`;
  throw new FetchError(
    failureOfKind('malformed', answer.status),
    `${answer.label} was answered with ${what}.`,
  );
}

/** Space, tab, line feed, carriage return, and the byte order mark of UTF-8. */
const whitespace: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);
/** `[` and `{`. */
const beginnings: ReadonlySet<number> = new Set([0x5b, 0x7b]);

/** The body as an object, or undefined for anything else. */
export function jsonObject(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function reasonIn(body: string): string | undefined {
  const json = jsonObject(Buffer.from(body));
  const reason = [json?.['message'], json?.['error_description'], json?.['error']].find(
    (text) => typeof text === 'string',
  );
  if (typeof reason !== 'string' || reason === '') return undefined;
  // Not cut: a secret in it must be found whole first (`redactedSource`).
  return reason.replaceAll(/\s+/g, ' ');
}

// What the headers of a page say about the list it belongs to.

/** A count, or null for anything that is none. */
export function countIn(header: string | undefined): number | null {
  if (header === undefined || !/^\d{1,15}$/.test(header.trim())) return null;
  return Number(header);
}

/** The address with `rel="next"` in a Link header (RFC 8288), absolute; null when there is none. */
export function nextLinkIn(header: string | undefined, base: URL): string | null {
  for (const [, target = '', parameters = ''] of (header ?? '').matchAll(/<([^>]*)>([^<]*)/g))
    if (relationsIn(parameters).includes('next') && URL.canParse(target, base.href))
      return new URL(target, base).href;
  return null;
}

/** Reads parameter by parameter: a quoted title may hold anything, also `rel=next`. */
function relationsIn(parameters: string): readonly string[] {
  for (const [, name = '', quoted, plain] of parameters.matchAll(
    /;\s*([^\s=;,"]+)\s*=\s*(?:"([^"]*)"|([^\s;,"]*))/g,
  ))
    if (name.toLowerCase() === 'rel') return (quoted ?? plain ?? '').toLowerCase().split(/\s+/);
  return [];
}

/** What one call carries. */
export interface Authorization {
  readonly headers: Readonly<Record<string, string>>;
  /** The server answered 401 to it. True: ask again, with a new authorize. False: there is no better one. */
  refused(): boolean;
}

export interface Authorizer {
  /** Fails as the login that it may need fails, or with the signal's reason. */
  authorize(signal: AbortSignal): Promise<Authorization>;
}
