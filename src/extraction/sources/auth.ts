// How calls prove who asks: a port with two ways of keeping it, fixed headers and a token that is renewed.
import type { Clock, LinkedSignal } from '../../core/index.ts';
import { abortable, linkSignals } from '../../core/index.ts';
import type { ExtractionError } from '../errors.ts';
import { FetchError } from '../errors.ts';
import type { JsonPath } from '../types.ts';
import type { SourceLabels } from './connect.ts';
import { notASource, unauthenticated, unreachable } from './connect.ts';
import type { RestSourceDefinition } from './description/types.ts';
import type { HttpResponse, Call, Caller, Authorization, Authorizer } from './http-client.ts';
import { failureOfKind, jsonObject, refusal } from './http-client.ts';

/** Headers that never change. */
export function fixedAuthorizer(headers: Readonly<Record<string, string>>): Authorizer {
  const authorize: Authorization = { headers, refused: () => false };
  return { authorize: () => Promise.resolve(authorize) };
}

export interface Token {
  readonly value: string;
  /** Null: it holds until the server refuses it. */
  readonly lifetimeMs: number | null;
}

export interface TokenAuthorizerOptions {
  /** Gets a new token. The signal aborts when nobody waits for it any more. */
  readonly login: (signal: AbortSignal) => Promise<Token>;
  readonly headersFor: (token: string) => Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Told each token before it is used, so that it can be kept out of logs. */
  readonly onSecret?: (token: string) => void;
}

/** A token is renewed this long before it expires, or after nine tenths of a shorter life. */
const marginMs = 60_000;

/** A login under way, and how many wait for it. */
interface Renewal {
  readonly token: Promise<string>;
  readonly link: LinkedSignal;
  waiters: number;
}

/**
 * Keeps one token for all calls. Whoever needs a new one while a login is under way waits for that login, which stops
 * when nobody waits for it any more; a 401 for a token that has been replaced meanwhile costs no further login.
 */
export class TokenAuthorizer implements Authorizer {
  readonly #options: TokenAuthorizerOptions;
  readonly #closing = new AbortController();
  #current: { readonly token: string; readonly renewAt: number } | undefined;
  #renewal: Renewal | undefined;

  constructor(options: TokenAuthorizerOptions) {
    this.#options = options;
  }

  async authorize(signal: AbortSignal): Promise<Authorization> {
    signal.throwIfAborted();
    const token = this.#usable() ?? (await this.#renewed(signal));
    return {
      headers: this.#options.headersFor(token),
      refused: () => {
        if (this.#current?.token === token) this.#current = undefined;
        return true;
      },
    };
  }

  /** Stops a login that is under way; later ones fail. */
  close(): void {
    this.#closing.abort(new Error('The source was closed.'));
  }

  #usable(): string | undefined {
    const current = this.#current;
    return current && this.#options.clock.monotonic() < current.renewAt ? current.token : undefined;
  }

  async #renewed(signal: AbortSignal): Promise<string> {
    const renewal = (this.#renewal ??= this.#startRenewal());
    renewal.waiters += 1;
    try {
      return await abortable(renewal.token, signal);
    } finally {
      renewal.waiters -= 1;
      if (renewal.waiters === 0) this.#endRenewal(renewal);
    }
  }

  #startRenewal(): Renewal {
    const link = linkSignals(this.#closing.signal);
    return { token: this.#renew(link.signal), link, waiters: 0 };
  }

  #endRenewal(renewal: Renewal): void {
    if (this.#renewal === renewal) this.#renewal = undefined;
    renewal.link.abort(new Error('Nobody waits for this login any more.'));
    renewal.link.dispose();
  }

  async #renew(signal: AbortSignal): Promise<string> {
    const { login, clock, onSecret } = this.#options;
    const askedAt = clock.monotonic();
    const { value, lifetimeMs } = await login(signal);
    onSecret?.(value);
    const usableMs =
      lifetimeMs === null ? Number.POSITIVE_INFINITY : lifetimeMs - Math.min(marginMs, lifetimeMs / 10);
    this.#current = { token: value, renewAt: askedAt + usableMs };
    return value;
  }
}

// The call that turns credentials into a token: Looker's login, OAuth client credentials, anybody's login call.

type JsonObject = Readonly<Record<string, unknown>>;

export interface TokenRequest {
  readonly call: Call;
  readonly tokenPath: JsonPath;
  /** Where the answer tells the token's life in seconds; null: nowhere. */
  readonly expiresInPath: JsonPath | null;
  readonly words: SourceLabels;
  /** Whether a refusal speaks of the credentials. `body` is undefined unless it was a JSON object. */
  readonly refusesCredentials: (status: number, body: JsonObject | undefined) => boolean;
}

/** Fails with an ExtractionError whose cause is the FetchError that a page would fail with. */
export async function requestToken(
  call: Caller,
  request: TokenRequest,
  now: number,
  signal: AbortSignal,
): Promise<Token> {
  const { words, tokenPath, expiresInPath } = request;
  const answer = await answered(call, request, signal);
  const body = jsonObject(answer.bytes);
  if (answer.status < 200 || answer.status > 299) {
    if (request.refusesCredentials(answer.status, body)) throw unauthenticated(words, answer.status);
    throw refusedLogin(words, answer, now);
  }
  const token = valueAt(body, tokenPath);
  if (typeof token !== 'string' || token === '') {
    const what = body ? `its login gives no ${tokenPath.join('.')}` : 'its login is not answered with JSON';
    throw notASource(words, what, new FetchError(failureOfKind('malformed', answer.status), what));
  }
  const seconds = Number(expiresInPath === null ? Number.NaN : valueAt(body, expiresInPath));
  return { value: token, lifetimeMs: seconds > 0 ? seconds * 1000 : null };
}

async function answered(call: Caller, request: TokenRequest, signal: AbortSignal): Promise<HttpResponse> {
  try {
    return await call(request.call, signal);
  } catch (error) {
    throw error instanceof FetchError ? unreachable(request.words, error) : error;
  }
}

/** Not for the credentials: busy or broken, moved, or somebody else's server. */
function refusedLogin(words: SourceLabels, answer: HttpResponse, now: number): ExtractionError {
  const failure = refusal(answer, now);
  if (failure.failure.isTransient) return unreachable(words, failure);
  const location = answer.headers['location'];
  const what =
    answer.status >= 300 && answer.status < 400 && location !== undefined
      ? `it redirects to ${location.split('?')[0]}`
      : `its login is answered with ${answer.status}`;
  return notASource(words, what, failure);
}

function valueAt(value: unknown, path: JsonPath): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? (at as JsonObject)[key] : undefined),
    value,
  );
}

// Who asks a REST source: fixed headers, or a token from a call.

export interface RestAuthorizerOptions {
  readonly call: Caller;
  readonly clock: Clock;
  readonly words: SourceLabels;
  readonly onSecret?: (token: string) => void;
}

export function createRestAuthorizer(
  { auth, baseUrl, headers }: RestSourceDefinition,
  { call, clock, words, onSecret }: RestAuthorizerOptions,
): Authorizer & { close(): void } {
  if (auth.type !== 'token')
    return { ...fixedAuthorizer(auth.type === 'none' ? {} : auth.headers), close: () => undefined };
  const url = new URL(auth.url.startsWith('/') ? baseUrl + auth.url : auth.url);
  // The source's own headers are for its own server; a token may be given out by another.
  const own = url.origin === new URL(baseUrl).origin ? headers : {};
  const request = {
    call: {
      method: 'POST',
      url,
      headers: { accept: 'application/json', ...own, ...auth.headers },
      body: auth.body,
    },
    tokenPath: auth.tokenPath,
    expiresInPath: auth.expiresInPath,
    words,
    refusesCredentials: (status: number) => [400, 401, 403, 422].includes(status),
  } as const;
  return new TokenAuthorizer({
    login: (signal) => requestToken(call, request, clock.now(), signal),
    headersFor: (token) => ({ [auth.header]: auth.prefix + token }),
    clock,
    ...(onSecret ? { onSecret } : {}),
  });
}
