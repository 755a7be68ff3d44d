// Starts a simulated Looker: an HTTP server on the loopback interface.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { Clock } from '../../core/index.ts';
import { messageOf, systemClock } from '../../core/index.ts';
import { listenOnLoopback, readBody, stopServer } from '../http-server.ts';
import type { Reply } from './api.ts';
import { LookerApi, Tokens } from './api.ts';
import { LookerContent } from './content.ts';
import type {
  ItemCounts,
  LookerSimulator,
  LookerSimulatorOptions,
  SimulatedType,
  SimulatorBehavior,
  WrittenItems,
} from './types.ts';
import { checkBehavior, checkChange, simulatedTypes } from './types.ts';

export * from './types.ts';

const host = '127.0.0.1';
const hourMs = 3_600_000;

const faultless: SimulatorBehavior = {
  rateLimits: {},
  retryAfter: 'seconds',
  faults: {},
  failures: [],
  latencyMs: 0,
  hasTotal: true,
};

/** Listens when it resolves. Fails with PORT_UNAVAILABLE, or a RangeError that names the option. */
export async function startLookerSimulator(options: LookerSimulatorOptions = {}): Promise<LookerSimulator> {
  const {
    clock = systemClock,
    seed = 1,
    clientId = 'simulated-client',
    clientSecret = 'simulated-secret',
  } = options;
  const content = new LookerContent({
    world: worldOf(options.items ?? {}, options.written ?? {}),
    written: options.written ?? {},
    seed,
    itemBytes: options.itemBytes ?? 0,
    pageLimit: options.pageLimit ?? null,
    cacheBytes: options.cacheBytes ?? 64_000_000,
  });
  const tokens = new Tokens({ clock, lifetimeMs: options.tokenLifetimeMs ?? hourMs, seed });
  const api = new LookerApi(
    { content, tokens, clock, seed, clientId, clientSecret },
    { ...faultless, ...checkBehavior(behaviorOf(options)) },
  );
  const controls = {
    stats: () => api.stats.report(),
    reset: () => api.reset(),
    change: (change: unknown) => content.change(checkChange(change)),
    configure: (behavior: unknown) => api.configure(checkBehavior(behavior)),
    expireTokens: () => tokens.revokeAll(),
  };

  const actions: Readonly<Record<string, Action>> = {
    'GET /__stats': controls.stats,
    'POST /__reset': controls.reset,
    'POST /__content': async (body) => controls.change(await body()),
    'POST /__configure': async (body) => controls.configure(await body()),
    'POST /__expire-tokens': controls.expireTokens,
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const address = new URL(request.url ?? '/', `http://${request.headers.host ?? host}`);
    const { method = 'GET' } = request;
    const { pathname } = address;
    if (pathname.startsWith('/__')) return control(`${method} ${pathname}`, actions, request, response);
    const { authorization } = request.headers;
    const reply = await api.handle({ method, address, authorization, readBody: () => readBody(request) });
    deliver(reply, response, { clock, onResponse: (status) => api.stats.countResponse(status) });
  };

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  const url = await listenOnLoopback(server, options.port ?? 0);
  return {
    url,
    clientId,
    clientSecret,
    ...controls,
    stop: () => stopServer(server),
  };
}

function worldOf(items: ItemCounts, written: WrittenItems): Readonly<Record<SimulatedType, number>> {
  const countOf = (type: SimulatedType) => Math.max(items[type] ?? 0, written[type]?.length ?? 0);
  if (countOf('explores') > 0 && countOf('lookml_models') === 0)
    throw new RangeError('items.explores belong to models: items.lookml_models must be at least 1');
  return Object.fromEntries(simulatedTypes.map((type) => [type, countOf(type)])) as Record<
    SimulatedType,
    number
  >;
}

function behaviorOf(options: LookerSimulatorOptions): Partial<SimulatorBehavior> {
  const names = Object.keys(faultless) as (keyof SimulatorBehavior)[];
  return Object.fromEntries(
    names.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  );
}

/* ---- the simulator's own endpoints, below /__ ---- */

type Action = (body: () => Promise<unknown>) => unknown;

/** Responds with 200, 400 with the problem, or 404 with the list of endpoints. These calls are not counted. */
async function control(
  endpoint: string,
  actions: Readonly<Record<string, Action>>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const send = (status: number, value: unknown) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  const act = actions[endpoint];
  if (!act) {
    send(404, { message: `There is no ${endpoint}; there are ${Object.keys(actions).join(', ')}.` });
    return;
  }
  try {
    send(200, (await act(async () => JSON.parse(await readBody(request)))) ?? { done: true });
  } catch (error) {
    send(400, { message: messageOf(error) });
  }
}

/* ---- sending a reply: late, cut off, or not at all ---- */

interface DeliveryDeps {
  readonly clock: Clock;
  /** Called once for each reply; `none` when no status was sent. */
  readonly onResponse: (status: number | 'none') => void;
}

function deliver(reply: Reply, response: ServerResponse, deps: DeliveryDeps): void {
  if (reply.delayMs === 0) {
    put(reply, response, deps);
    return;
  }
  const abandon = () => {
    cancel();
    deps.onResponse('none');
  };
  const cancel = deps.clock.after(reply.delayMs, () => {
    response.off('close', abandon);
    put(reply, response, deps);
  });
  response.once('close', abandon);
}

function put(reply: Reply, response: ServerResponse, { onResponse }: DeliveryDeps): void {
  if (!('response' in reply)) {
    onResponse('none');
    if (reply.delivery === 'reset') response.socket?.resetAndDestroy();
    return;
  }
  const { status, body, headers } = reply.response;
  onResponse(status);
  const isEmpty = status === 204;
  response.writeHead(status, {
    ...(isEmpty ? {} : { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length }),
    ...headers,
  });
  if (reply.delivery === 'truncated')
    response.write(body.subarray(0, body.length >> 1), () => response.destroy());
  else response.end(isEmpty ? undefined : body);
}
