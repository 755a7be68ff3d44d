// Authenticates calls: fixed headers, or a token from a login that is renewed once for all waiting callers.
import type { Clock, LinkedSignal } from '../../core/index.ts';
import { abortable, linkSignals } from '../../core/index.ts';
import type { ExtractionError } from '../errors.ts';
import { FetchError } from '../errors.ts';
import { valueAt } from '../parsing/json.ts';
import type { SourceLabels } from './connect.ts';
import { notThisSource, unauthenticated, unreachable } from './connect.ts';
import type { AuthDescription } from './description/schema.ts';
import type { SourceDescription } from './description/types.ts';
import type { Authorization, Authorizer, HttpCall, HttpClient, HttpResponse } from './http-client.ts';
import { errorOf, failureOfKind, jsonObject } from './http-client.ts';

export interface AuthorizerDeps {
  readonly call: HttpClient;
  readonly clock: Clock;
  /** Called with each token before it is used, so that it is redacted. */
  readonly onSecret?: (token: string) => void;
}

export function createAuthorizer(
  { auth, baseUrl, headers, labels }: SourceDescription,
  { call, clock, onSecret }: AuthorizerDeps,
): Authorizer & { close(): void } {
  if (auth.type !== 'token') {
    const authorization = { headers: auth.type === 'none' ? {} : auth.headers, reject: () => false };
    return { authorize: () => Promise.resolve(authorization), close: () => undefined };
  }
  const url = new URL(auth.url.startsWith('/') ? baseUrl + auth.url : auth.url);
  // The source's own headers are for its own server; a token may come from another one.
  const ownHeaders = url.origin === new URL(baseUrl).origin ? headers : {};
  const login: HttpCall = {
    method: 'POST',
    url,
    headers: { accept: 'application/json', ...ownHeaders, ...auth.headers },
    body: auth.body,
  };
  return new TokenAuthorizer({
    login: (signal) => requestToken(call, login, auth, labels, clock.now(), signal),
    headersFor: (token) => ({ [auth.header]: auth.prefix + token }),
    clock,
    onSecret,
  });
}

export interface Token {
  readonly value: string;
  /** Null: valid until the server rejects it. */
  readonly lifetimeMs: number | null;
}

export interface TokenAuthorizerOptions {
  /** Gets a new token. The signal aborts when no caller waits for it any more. */
  readonly login: (signal: AbortSignal) => Promise<Token>;
  readonly headersFor: (token: string) => Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly onSecret?: (token: string) => void;
}

/** A token is renewed this long before it expires, or after nine tenths of a shorter lifetime. */
const renewalMarginMs = 60_000;

/** A running login and the number of callers that wait for it. */
interface Renewal {
  readonly token: Promise<string>;
  readonly link: LinkedSignal;
  waiters: number;
}

/**
 * Keeps one token for all calls. Callers that need a new one during a login wait for that login, which is canceled when
 * no caller waits for it any more; a 401 for a token that has been replaced meanwhile causes no further login.
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
    const token = this.#usableToken() ?? (await this.#newToken(signal));
    return {
      headers: this.#options.headersFor(token),
      reject: () => {
        if (this.#current?.token === token) this.#current = undefined;
        return true;
      },
    };
  }

  /** Cancels a running login; later ones fail. */
  close(): void {
    this.#closing.abort(new Error('The source was closed.'));
  }

  #usableToken(): string | undefined {
    const current = this.#current;
    return current && this.#options.clock.monotonic() < current.renewAt ? current.token : undefined;
  }

  async #newToken(signal: AbortSignal): Promise<string> {
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
    renewal.link.abort(new Error('No caller waits for this login any more.'));
    renewal.link.dispose();
  }

  async #renew(signal: AbortSignal): Promise<string> {
    const { login, clock, onSecret } = this.#options;
    const startedAt = clock.monotonic();
    const { value, lifetimeMs } = await login(signal);
    onSecret?.(value);
    const usableMs =
      lifetimeMs === null
        ? Number.POSITIVE_INFINITY
        : lifetimeMs - Math.min(renewalMarginMs, lifetimeMs / 10);
    this.#current = { token: value, renewAt: startedAt + usableMs };
    return value;
  }
}

type TokenAuth = Extract<AuthDescription, { type: 'token' }>;

/** Fails with an ExtractionError whose cause is the FetchError that a page would fail with. */
async function requestToken(
  call: HttpClient,
  login: HttpCall,
  { tokenPath, expiresInPath, isCredentialError }: TokenAuth,
  labels: SourceLabels,
  now: number,
  signal: AbortSignal,
): Promise<Token> {
  const response = await send(call, login, labels, signal);
  const body = jsonObject(response.bytes);
  if (response.status < 200 || response.status > 299) {
    if (isCredentialError(response.status, body)) throw unauthenticated(labels, response.status);
    throw loginError(labels, response, now);
  }
  const token = valueAt(body, tokenPath);
  if (typeof token !== 'string' || token === '') {
    const problem = body ? `its login returns no ${tokenPath.join('.')}` : 'its login does not return JSON';
    throw notThisSource(
      labels,
      problem,
      new FetchError(failureOfKind('malformed', response.status), problem),
    );
  }
  const seconds = Number(expiresInPath === null ? Number.NaN : valueAt(body, expiresInPath));
  return { value: token, lifetimeMs: seconds > 0 ? seconds * 1000 : null };
}

async function send(
  call: HttpClient,
  login: HttpCall,
  labels: SourceLabels,
  signal: AbortSignal,
): Promise<HttpResponse> {
  try {
    return await call(login, signal);
  } catch (error) {
    throw error instanceof FetchError ? unreachable(labels, error) : error;
  }
}

/** Not because of the credentials: busy or failing, moved, or another server. */
function loginError(labels: SourceLabels, response: HttpResponse, now: number): ExtractionError {
  const error = errorOf(response, now);
  if (error.failure.isTransient) return unreachable(labels, error);
  const location = response.headers['location'];
  const problem =
    response.status >= 300 && response.status < 400 && location !== undefined
      ? `it redirects to ${location.split('?')[0]}`
      : `its login returns ${response.status}`;
  return notThisSource(labels, problem, error);
}
