// Starts a simulated Looker: an HTTP server on the loopback interface that behaves as it is told.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { systemClock } from '../../core/index.ts';
import { listenOnLoopback } from '../listen-on-loopback.ts';
import { control } from './control.ts';
import { deliver } from './deliver.ts';
import { LookerApi } from './looker-api.ts';
import { LookerContent } from './looker-content.ts';
import type {
  ItemCounts,
  LookerSimulator,
  LookerSimulatorOptions,
  SimulatedType,
  SimulatorBehaviour,
  WrittenItems,
} from './ports.ts';
import { simulatedTypes } from './ports.ts';
import { readBody } from '../read-body.ts';
import { checkBehaviour, checkChange } from './settings-schema.ts';
import { Tokens } from './tokens.ts';

const host = '127.0.0.1';
const hourMs = 3_600_000;

const harmless: SimulatorBehaviour = {
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
    { ...harmless, ...checkBehaviour(behaviourOf(options)) },
  );
  const hands = {
    stats: () => api.stats.report(),
    reset: () => api.reset(),
    change: (change: unknown) => content.change(checkChange(change)),
    configure: (behaviour: unknown) => api.configure(checkBehaviour(behaviour)),
    expireTokens: () => tokens.revokeAll(),
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const address = new URL(request.url ?? '/', `http://${request.headers.host ?? host}`);
    const body = () => readBody(request);
    const { method = 'GET' } = request;
    if (address.pathname.startsWith('/__'))
      return control({ method, path: address.pathname, body }, hands, response);
    const { authorization } = request.headers;
    const reply = await api.handle({ method, address, authorization, readBody: body });
    deliver(reply, response, { clock, answered: (status) => api.stats.answered(status) });
  };

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  const url = await listenOnLoopback(server, options.port ?? 0);
  return {
    url,
    clientId,
    clientSecret,
    ...hands,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
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

function behaviourOf(options: LookerSimulatorOptions): Partial<SimulatorBehaviour> {
  const names = Object.keys(harmless) as (keyof SimulatorBehaviour)[];
  return Object.fromEntries(
    names.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  );
}
