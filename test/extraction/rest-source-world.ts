// REST sources for tests, with a small API that fails on demand.
import { systemClock } from '../../src/core/index.ts';
import { loadDescription } from '../../src/extraction/sources/description/load.ts';
import type { HttpSourceOptions } from '../../src/extraction/sources/http-source.ts';
import { createHttpSource } from '../../src/extraction/sources/http-source.ts';
import type { SourceWorld } from '../support/extraction/source.contract.ts';
import type { InMemoryHandler } from '../support/http-client/in-memory-transport.ts';
import { createUndiciTransport } from '../../src/platform/http-client/undici-transport.ts';
import { createInMemoryTransport } from '../support/http-client/in-memory-transport.ts';
import { countedPermits } from '../support/counted-permits.ts';
import { createMisbehavingApi, serveHandler } from '../support/misbehaving-api.ts';

const ids = Array.from({ length: 25 }, (_, index) => String(index + 1));

const definition = `
name: tickets
base_url: \${TICKETS_URL}/v2
auth:
  type: login
  url: /session
  body: { user: "\${TICKETS_USER}", password: "\${TICKETS_PASSWORD}" }
  token_path: session.token
  expires_in_path: session.seconds
  header: X-Session
  prefix: ""
resources:
  - name: tickets
    path: /tickets
    items: data
    id: id
    pagination: { type: offset, offset_param: skip, limit_param: take }
    total: { header: X-Count }
`;

function createTicketsApi() {
  return createMisbehavingApi({
    loginPath: '/v2/session',
    tokenIn: ({ headers }) => headers['x-session'],
    loginAnswer: (token, seconds) => ({ session: { token, seconds } }),
    refusal: (status) => ({ error: `status ${status}` }),
    content({ url }, hasTotal) {
      const skip = Number(url.searchParams.get('skip'));
      const data = ids.slice(skip, skip + Number(url.searchParams.get('take'))).map((id) => ({ id }));
      return {
        status: 200,
        headers: {
          'content-type': 'application/json',
          ...(hasTotal ? { 'x-count': String(ids.length) } : {}),
        },
        body: JSON.stringify({ data }),
      };
    },
  });
}

export async function restWorld(overHttp: boolean): Promise<SourceWorld> {
  const api = createTicketsApi();
  const served = overHttp ? await serveHandler(api.handler) : undefined;
  const transport = served ? createUndiciTransport({}) : createInMemoryTransport({ handler: api.handler });
  const { acquirePermit, permits } = countedPermits();
  const env = {
    TICKETS_URL: served?.baseUrl ?? 'https://tickets.test',
    TICKETS_USER: 'the-client-id',
    TICKETS_PASSWORD: 'the-secret',
  };
  const description = loadDescription(definition, { env, file: 'tickets.yaml' });
  return {
    ...api,
    permits,
    limiterKey: description.limiterKey,
    source: createHttpSource(description, {
      transport,
      clock: systemClock,
      acquirePermit,
      limits: { firstByteMs: 500, idleMs: 500, totalMs: 1_500, maxBytes: 100_000 },
    }),
    type: 'tickets',
    ids,
    idsIn: (bytes) =>
      (JSON.parse(Buffer.from(bytes).toString()) as { data: { id: string }[] }).data.map(({ id }) => id),
    async stop() {
      await transport.close();
      await served?.stop();
    },
  };
}

/** A source from YAML that calls `handler`, without a network. */
export function restSourceOn(
  handler: InMemoryHandler,
  yaml: string,
  env: Readonly<Record<string, string>> = {},
  more: Pick<HttpSourceOptions, 'onSecret' | 'acquirePermit'> = {},
) {
  const loaded = loadDescription(yaml, { env, file: 'source.yaml' });
  return createHttpSource(loaded, {
    transport: createInMemoryTransport({ handler }),
    clock: systemClock,
    ...more,
  });
}
