// An HTTP API as a source, defined by its description.
import type { Clock, HttpTransport } from '../../core/index.ts';
import { linkSignals } from '../../core/index.ts';
import { FetchError } from '../errors.ts';
import type { OnConnectWait, PageRequest, Source } from '../types.ts';
import { createAuthorizer } from './auth.ts';
import { connectWithRetries, unauthenticated, unreachable } from './connect.ts';
import type { SourceDescription, TypeDescription } from './description/types.ts';
import type { CallLimits, PermitProvider } from './http-client.ts';
import { countIn, createHttpClient, fetchJson, nextLinkIn } from './http-client.ts';
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

  /** Without a login: a HEAD request of a list distinguishes an unknown host and a wrong key from a usable source. */
  async function probe(signal: AbortSignal): Promise<void> {
    const first = types.find(({ type }) => type.parent === undefined);
    const { headers: authorization } = await authorizer.authorize(signal);
    const endpoint = first && Object.values(first.endpoints)[0];
    if (!endpoint) return;
    const list = { type: first.type.name, endpoint: '', parents: [] };
    const url = buildUrl(baseUrl, endpoint, { key: 'head', list, position: { kind: 'single' } });
    try {
      const response = await call({ method: 'HEAD', url, headers: { ...headers, ...authorization } }, signal);
      if (response.status === 401) throw unauthenticated(labels, response.status);
    } catch (error) {
      throw error instanceof FetchError && !signal.aborted ? unreachable(labels, error) : error;
    }
  }

  return {
    name: description.name,
    secrets,
    get types() {
      return types.map(({ type }) => type);
    },
    async connect(signal, onConnectWait) {
      const onWait: OnConnectWait = (reason, waitMs) => onConnectWait?.(redact(reason), waitMs);
      const login = async () => void (await authorizer.authorize(signal));
      const check = description.auth.type === 'token' ? login : () => probe(signal);
      await connectWithRetries(check, clock, signal, onWait);
      const narrow = description.narrowTypes;
      if (!narrow) return;
      const narrowTypes = async () => {
        types = await narrow(get, signal);
      };
      await connectWithRetries(narrowTypes, clock, signal, onWait);
    },
    async fetch(request, signal, onSent) {
      const { type: name, endpoint: endpointName } = request.list;
      const endpoint = types.find(({ type }) => type.name === name)?.endpoints[endpointName];
      if (!endpoint) throw new TypeError(`${description.name} has no page "${request.key}".`);
      try {
        const url = buildUrl(baseUrl, endpoint, unmasked(request, masker));
        const { bytes, headers: received } = await get(url, signal, onSent);
        const next = nextLinkIn(received['link'], url);
        const total = endpoint.totalHeader === null ? null : countIn(received[endpoint.totalHeader]);
        return { request, bytes, total, nextLink: next && masker.mask(next) };
      } catch (error) {
        throw redacted(error);
      }
    },
    async close() {
      closing.abort(new Error('The source was closed.'));
      authorizer.close();
    },
  };
}

/** With the cursor as the server sent it. */
function unmasked(request: PageRequest, masker: SecretMasker): PageRequest {
  const { position } = request;
  if (position.kind !== 'cursor' || position.cursor === null) return request;
  return { ...request, position: { ...position, cursor: masker.unmask(position.cursor) } };
}
