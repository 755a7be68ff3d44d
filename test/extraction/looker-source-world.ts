// Looker sources for tests, with a small Looker that fails on demand.
import type { Clock } from '../../src/core/index.ts';
import { systemClock } from '../../src/core/index.ts';
import type { HttpSourceOptions } from '../../src/extraction/sources/http-source.ts';
import { createHttpSource } from '../../src/extraction/sources/http-source.ts';
import type { LookerOptions } from '../../src/extraction/sources/looker/description.ts';
import { lookerDescription } from '../../src/extraction/sources/looker/description.ts';
import type { SourceWorld } from '../support/extraction/source.contract.ts';
import { createUndiciTransport } from '../../src/platform/http-client/undici-transport.ts';
import { createInMemoryTransport } from '../support/http-client/in-memory-transport.ts';
import type { InMemoryResponse, InMemoryRequest } from '../support/http-client/in-memory-transport.ts';
import { countedPermits } from '../support/counted-permits.ts';
import type { MisbehavingApi } from '../support/misbehaving-api.ts';
import { createMisbehavingApi, serveHandler } from '../support/misbehaving-api.ts';

const dashboardIds = Array.from({ length: 25 }, (_, index) => String(index + 1));
/** 1 has 2 and 3; 3 has 4; 9 has no parent. */
const folders = [
  { id: '1', parent_id: null },
  { id: '2', parent_id: '1' },
  { id: '3', parent_id: '1' },
  { id: '4', parent_id: '3' },
  { id: '9', parent_id: null },
];

export function createLookerApi(): MisbehavingApi {
  return createMisbehavingApi({
    loginPath: '/api/4.0/login',
    tokenIn: ({ headers }) => /^token (.+)$/.exec(headers['authorization'] ?? '')?.[1],
    loginAnswer: (token, lifetime) => ({ access_token: token, token_type: 'Bearer', expires_in: lifetime }),
    refusal: (status) => ({ message: `status ${status}`, documentation_url: 'https://looker.test/docs' }),
    content,
  });
}

function content({ url }: InMemoryRequest, hasTotal: boolean): InMemoryResponse {
  const path = url.pathname.replace('/api/4.0', '');
  const offset = Number(url.searchParams.get('offset'));
  const limit = Number(url.searchParams.get('limit'));
  const all =
    path === '/folders/search' ? folders : dashboardIds.map((id) => ({ id, title: `Dashboard ${id}` }));
  // Shorter pages of folders than requested, as servers with their own limit return.
  const items = all.slice(offset, offset + (path === '/folders/search' ? Math.min(limit, 2) : limit));
  const next = `<${url.pathname}?offset=${offset + limit}>; rel="next"`;
  return {
    status: 200,
    headers: {
      'content-type': 'application/json',
      ...(hasTotal ? { 'x-total-count': String(all.length) } : {}),
      ...(offset + limit < all.length ? { link: next } : {}),
    },
    body: JSON.stringify(items),
  };
}

export const lookerCredentials = { clientId: 'the-client-id', clientSecret: 'the-client-secret' };

/** A source that calls `api`, without a network. */
export function lookerSourceOn(
  api: MisbehavingApi,
  more: Partial<LookerOptions & HttpSourceOptions> & { readonly clock?: Clock } = {},
) {
  const clock = more.clock ?? systemClock;
  const transport = createInMemoryTransport({ handler: api.handler, clock });
  return createLooker({
    baseUrl: 'https://acme.looker.test',
    transport,
    clock,
    ...lookerCredentials,
    ...more,
  });
}

/** A Looker source, from the options of its description and of its transport. */
export const createLooker = (options: LookerOptions & HttpSourceOptions) =>
  createHttpSource(lookerDescription(options), options);

export async function lookerWorld(overHttp: boolean): Promise<SourceWorld> {
  const api = createLookerApi();
  const served = overHttp ? await serveHandler(api.handler) : undefined;
  const transport = served ? createUndiciTransport({}) : createInMemoryTransport({ handler: api.handler });
  const { acquirePermit, permits } = countedPermits();
  const description = lookerDescription({
    baseUrl: served?.baseUrl ?? 'https://acme.looker.test',
    ...lookerCredentials,
  });
  return {
    ...api,
    permits,
    limiterKey: description.limiterKey,
    source: createHttpSource(description, {
      acquirePermit,
      transport,
      clock: systemClock,
      limits: { firstByteMs: 500, idleMs: 500, totalMs: 1_500, maxBytes: 100_000 },
    }),
    type: 'dashboards',
    ids: dashboardIds,
    idsIn: (bytes) => (JSON.parse(Buffer.from(bytes).toString()) as { id: string }[]).map(({ id }) => id),
    async stop() {
      await transport.close();
      await served?.stop();
    },
  };
}
