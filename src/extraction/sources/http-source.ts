// An HTTP API as a source, defined by its description, and the authentication of its calls.
import type { Clock, HttpTransport, LinkedSignal } from '../../core/index.ts';
import { abortable, linkSignals } from '../../core/index.ts';
import type { ExtractionError } from '../errors.ts';
import { FetchError } from '../errors.ts';
import { valueAt } from '../parsing/json.ts';
import { firstItemOf, isNamed } from '../pipeline/paginator.ts';
import type { OnConnectWait, PageRequest, RawPage, Source } from '../types.ts';
import type { SourceLabels } from './connect.ts';
import { connectWithRetries, notThisSource, unauthenticated, unreachable } from './connect.ts';
import type { AuthDescription, SourceDescription, TypeDescription } from './description/schema.ts';
import type {
  Authorization,
  Authorizer,
  CallLimits,
  HttpCall,
  HttpClient,
  HttpResponse,
  PermitProvider,
} from './http-client.ts';
import {
  countIn,
  createHttpClient,
  errorOf,
  failureOfKind,
  fetchJson,
  jsonObject,
  nextLinkIn,
  noContent,
} from './http-client.ts';
import { buildUrl } from './request-builder.ts';
import { SecretMasker } from './secrets.ts';

export interface HttpSourceOptions {
  readonly transport: HttpTransport;
  readonly clock: Clock;
  readonly limits?: Partial<CallLimits>;
  /** Called with each token of a login, so that it is redacted. `description.secrets` are the other secrets. */
  readonly onSecret?: (token: string) => void;
  /** Called before every call to the source's server, logins included. Default: calls need no permit. */
  readonly acquirePermit?: PermitProvider;
  /** Removes secrets from error messages, which are stored, shown and sent. Default: none are known. */
  readonly redact?: (text: string) => string;
}

const maxMessageLength = 500;

/**
 * The caller closes the transport.
 *
 * @example
 * const source = createHttpSource(loadDescription(yaml, { env, file }), { transport, clock: systemClock });
 */
export function createHttpSource(description: SourceDescription, options: HttpSourceOptions): Source {
  const { clock, redact = (text: string) => text } = options;
  const { baseUrl, labels, headers, secrets } = description;
  const call = createHttpClient({ ...options, origin: new URL(baseUrl).origin });
  const authorizer = createAuthorizer(description, { ...options, call });
  const closing = new AbortController();
  const masker = new SecretMasker(secrets);
  let types: readonly TypeDescription[] = description.types;

  async function get(url: URL, signal: AbortSignal, onSent?: () => void) {
    const link = linkSignals(signal, closing.signal);
    try {
      return await fetchJson({ url, headers, onSent }, { call, authorizer, clock }, link.signal);
    } finally {
      link.dispose();
    }
  }

  /** Redacted before it is truncated: half a secret would not be recognized. */
  function redacted(error: unknown): unknown {
    if (!(error instanceof FetchError)) return error;
    const message = redact(error.message);
    const truncated = message.length > maxMessageLength ? `${message.slice(0, maxMessageLength)}…` : message;
    return new FetchError(error.failure, truncated, error);
  }

  let probed: RawPage | undefined;

  /**
   * Without a login: the first page distinguishes an unknown host and a wrong key from a usable source. A HEAD request does
   * not: many servers do not support it. Other errors are those of the page.
   */
  async function probe(first: PageRequest, signal: AbortSignal): Promise<void> {
    try {
      probed = await fetchPage(first, signal);
    } catch (error) {
      if (!(error instanceof FetchError) || signal.aborted) throw error;
      const { status, kind } = error.failure;
      if (status === 401) throw unauthenticated(labels, status);
      if (status === undefined && (kind === 'network' || kind === 'timeout'))
        throw unreachable(labels, error);
    }
  }

  async function fetchPage(request: PageRequest, signal: AbortSignal, onSent?: () => void): Promise<RawPage> {
    const { type: name, endpoint: endpointName } = request.list;
    const endpoint = types.find(({ type }) => type.name === name)?.endpoints[endpointName];
    if (!endpoint) throw new TypeError(`${description.name} has no page "${request.key}".`);
    try {
      const url = buildUrl(baseUrl, endpoint, unmasked(request, masker));
      const { bytes, headers: received, status, label } = await get(url, signal, onSent);
      if (status === noContent) {
        if (endpoint.emptyWhen.includes('no_content') && !isNamed(request)) return { request, ...noItems };
        throw new FetchError(failureOfKind('malformed', status), `${label} returned no content.`);
      }
      const next = nextLinkIn(received['link'], url);
      const total = endpoint.totalHeader === null ? null : countIn(received[endpoint.totalHeader]);
      return { request, bytes, total, nextLink: next && masker.mask(next) };
    } catch (error) {
      const mayBeMissing = firstItemOf(request) > 0 || endpoint.emptyWhen.includes('not_found');
      if (hasNotFoundStatus(error) && mayBeMissing && !isNamed(request))
        return { request, ...noItems, isNotFound: true };
      throw redacted(error);
    }
  }

  return {
    name: description.name,
    secrets,
    get types() {
      return types.map(({ type }) => type);
    },
    async connect(signal, onConnectWait, first) {
      const onWait: OnConnectWait = (reason, waitMs) => onConnectWait?.(redact(reason), waitMs);
      const login = async () => void (await authorizer.authorize(signal));
      if (description.auth.type === 'token') await connectWithRetries(login, clock, signal, onWait);
      else if (first) await connectWithRetries(() => probe(first, signal), clock, signal, onWait);
      const narrow = description.narrowTypes;
      if (!narrow) return;
      const narrowTypes = async () => {
        types = await narrow(get, signal);
      };
      await connectWithRetries(narrowTypes, clock, signal, onWait);
    },
    fetch(request, signal, onSent) {
      const page = probed;
      probed = undefined;
      const isProbed = page?.request.list.type === request.list.type && page.request.key === request.key;
      return isProbed ? Promise.resolve(page) : fetchPage(request, signal, onSent);
    },
    async close() {
      closing.abort(new Error('The source was closed.'));
      authorizer.close();
    },
  };
}

/** A page for a response that stands for no items. */
const noItems = { bytes: Buffer.from('[]'), total: null, nextLink: null, isEmpty: true } as const;

const hasNotFoundStatus = (error: unknown): boolean =>
  error instanceof FetchError && (error.failure.status === 404 || error.failure.status === 410);

/** The request with the cursor as the server sent it. */
function unmasked(request: PageRequest, masker: SecretMasker): PageRequest {
  const { position } = request;
  if (position.kind !== 'cursor' || position.cursor === null) return request;
  return { ...request, position: { ...position, cursor: masker.unmask(position.cursor) } };
}

interface AuthorizerDeps {
  readonly call: HttpClient;
  readonly clock: Clock;
  /** Called with each token before it is used, so that it is redacted. */
  readonly onSecret?: (token: string) => void;
}

/** Fixed headers, or a token from a login that is renewed once for all waiting callers. */
function createAuthorizer(
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

/** The error of a login that failed, but not because of the credentials: busy or failing, moved, or another server. */
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
