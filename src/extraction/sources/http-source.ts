// Any REST API as a source, as its file defines it.
import type { Clock, HttpTransport } from '../../core/index.ts';
import { linkSignals } from '../../core/index.ts';
import { FetchError } from '../errors.ts';
import { limiterKey } from '../rate-limiter.ts';
import type { RawPage, PageRequest, Pagination, Source, ContentType } from '../types.ts';
import { createRestAuthorizer } from './auth.ts';
import type { SourceLabels } from './connect.ts';
import { connectPatiently, unauthenticated, unreachable } from './connect.ts';
import type { RestPagination, RestResource, RestSourceDefinition } from './description/types.ts';
import type { CallLimits, PermitProvider } from './http-client.ts';
import { countIn, createCaller, fetchJson, nextLinkIn } from './http-client.ts';
import { buildUrl } from './request-builder.ts';
import { SecretMasker } from './secrets.ts';

export interface RestSourceOptions {
  readonly transport: HttpTransport;
  readonly clock: Clock;
  readonly limits?: Partial<CallLimits>;
  /** Told each token that a login gives, so that it is redacted everywhere. `definition.secrets` are the others. */
  readonly onSecret?: (token: string) => void;
  /** Asked before every call to the server of `base_url`, logins included. Default: calls need no leave. */
  readonly acquirePermit?: PermitProvider;
}

/** The transport stays the caller's to close. */
export function createRestSource(definition: RestSourceDefinition, options: RestSourceOptions): Source {
  const { clock } = options;
  const words = wordsFor(definition);
  const call = createCaller({ ...options, origin: new URL(definition.baseUrl).origin });
  const authorizer = createRestAuthorizer(definition, { ...options, call, words });
  const closing = new AbortController();
  const types = definition.resources.map(contentTypeOf);
  const masker = new SecretMasker(definition.secrets);

  /** Nobody logs in: ask for the head of a list, which tells an unknown host and a wrong key from a good one. */
  async function probe(signal: AbortSignal): Promise<void> {
    const first = definition.resources.find(({ parent }) => parent === null);
    const { headers } = await authorizer.authorize(signal);
    if (!first) return;
    const url = buildUrl(definition.baseUrl, first, { type: first.name, key: 'head', kind: 'whole' });
    try {
      const answer = await call(
        { method: 'HEAD', url, headers: { ...definition.headers, ...headers } },
        signal,
      );
      if (answer.status === 401) throw unauthenticated(words, answer.status);
    } catch (error) {
      throw error instanceof FetchError && !signal.aborted ? unreachable(words, error) : error;
    }
  }

  return {
    name: `rest ${definition.name} ${definition.publicUrl}`,
    types,
    secrets: definition.secrets,
    limiterKey: limiterKey(new URL(definition.baseUrl).host, credentialOf(definition)),
    async connect(signal, onWait) {
      await connectPatiently(
        definition.auth.type === 'token' ? async () => void (await authorizer.authorize(signal)) : probe,
        clock,
        signal,
        onWait,
      );
    },
    async fetch(request: PageRequest, signal: AbortSignal, onSent?: () => void): Promise<RawPage> {
      const resource = definition.resources.find(({ name }) => name === request.type);
      if (!resource) throw new TypeError(`${definition.name} has no resource "${request.type}".`);
      const url = buildUrl(definition.baseUrl, resource, unmasked(request, masker));
      const link = linkSignals(signal, closing.signal);
      try {
        const fetcher = { call, authorizer, clock };
        const asked = { url, headers: definition.headers, onSent };
        const answer = await fetchJson(fetcher, asked, link.signal);
        const next = nextLinkIn(answer.headers['link'], url);
        return {
          request,
          bytes: answer.bytes,
          total: resource.totalHeader === null ? null : countIn(answer.headers[resource.totalHeader]),
          nextLink: next && masker.mask(next),
        };
      } finally {
        link.dispose();
      }
    },
    async close() {
      closing.abort(new Error('The source was closed.'));
      authorizer.close();
    },
  };
}

/** As the server named its next page. */
function unmasked(request: PageRequest, masker: SecretMasker): PageRequest {
  if (request.kind === 'cursor')
    return { ...request, cursor: request.cursor && masker.unmask(request.cursor) };
  if (request.kind !== 'child' || !request.position) return request;
  const { position } = request;
  return {
    ...request,
    position: { ...position, cursor: position.cursor && masker.unmask(position.cursor) },
  };
}

const pagings: Readonly<Record<RestPagination['type'], Pagination>> = {
  none: 'whole',
  offset: 'offset',
  page: 'page',
  cursor: 'cursor',
  link: 'link',
};

function contentTypeOf({ name, pagination, pageSize, shape, parent }: RestResource): ContentType {
  return {
    name,
    number: null,
    pagination: pagings[pagination.type],
    shape,
    ...(pageSize === null ? {} : { pageSize }),
    ...(parent === null
      ? {}
      : {
          parent: {
            from: parent.resource,
            key: parent.key.path,
            ...(parent.children === null ? {} : { children: parent.children }),
            ...(parent.parentKey === null ? {} : { parentKey: parent.parentKey.path }),
          },
        }),
  };
}

function wordsFor({ name, publicUrl, file, credentialVariables }: RestSourceDefinition): SourceLabels {
  const variables = credentialVariables.length === 0 ? '' : `, ${credentialVariables.join(' and ')}`;
  return {
    server: `${name} at ${publicUrl}`,
    addressSetting: `base_url in ${file}`,
    credentialSettings: `auth in ${file}${variables}`,
  };
}

function credentialOf({ auth }: RestSourceDefinition): string | null {
  if (auth.type === 'none') return null;
  return [...Object.values(auth.headers), ...(auth.type === 'token' ? [auth.body] : [])].join();
}
