// A gateway with in-memory stores, behind a real HTTP server, in front of simulated providers.
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { Agent, fetch } from 'undici';
import { onTestFinished } from 'vitest';
import { EventBus, Redactor, systemClock, systemIds, systemRandom } from '../../../src/core/index.ts';
import type { EmittedEvent } from '../../../src/core/index.ts';
import type { GatewayStores, Gateway } from '../../../src/gateway/index.ts';
import type { ModelInput } from '../../../src/gateway/models/model-definition.ts';
import { gatewayEvents, openGateway } from '../../../src/gateway/index.ts';
import { memoryGatewayStores } from './memory-stores.ts';
import type { GatewayOptions } from '../../../src/gateway/options.ts';
import { gatewayOptions } from '../../../src/gateway/options.ts';
import { buildServer } from '../../../src/http/index.ts';
import { createUndiciTransport } from '../../../src/platform/http-client/undici-transport.ts';
import type { ModelsSimulator } from '../../../src/simulators/models/simulator.ts';
import { readScenario } from '../../../src/simulators/models/scenario.ts';
import { startModelsSimulator } from '../../../src/simulators/models/simulator.ts';
import type { TestDeps } from '../http-dependencies.ts';
import { adminToken, createTestDeps } from '../http-dependencies.ts';

export interface GatewayWorldOptions {
  /** Providers as in a scenario file; each becomes a provider whose key is `sk-NAME`. */
  readonly providers: readonly { readonly name: string; readonly models: readonly object[] }[];
  readonly options?: Partial<GatewayOptions>;
  readonly env?: Readonly<Record<string, string>>;
  readonly stores?: GatewayStores;
  /** False: providers are called with promises only. */
  readonly usesCallbacks?: boolean;
  /** Overrides for added models, by `provider/model`. */
  readonly models?: Readonly<Record<string, Partial<ModelInput>>>;
  readonly allowedOrigins?: readonly string[];
}

export interface GatewayWorld {
  readonly url: string;
  readonly server: FastifyInstance;
  readonly simulator: ModelsSimulator;
  readonly gateway: Gateway;
  readonly events: readonly EmittedEvent[];
  /** Of the HTTP server. */
  readonly httpEvents: readonly EmittedEvent[];
  readonly auditRows: TestDeps['auditRows'];
  /** Calls that reached a simulated model. */
  calls(model: string): number;
  /** A JSON call as admin. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  chat(body?: object, headers?: Record<string, string>): Promise<Response>;
}

/** Short delays and two extra attempts. */
const quick: Partial<GatewayOptions> = {
  maxRetries: 2,
  retryDelaySeconds: 0.05,
  connectTimeoutSeconds: 5,
  firstTokenTimeoutSeconds: 1,
  responseTimeoutSeconds: 2,
  idleTimeoutSeconds: 1,
  requestTimeoutSeconds: 20,
};

/** Everything is stopped when the test has finished. */
export async function gatewayWorld(world: GatewayWorldOptions): Promise<GatewayWorld> {
  const simulator = await startModelsSimulator({
    scenario: readScenario({
      providers: world.providers.map((provider) => ({ keys: [`sk-${provider.name}`], ...provider })),
    }),
  });
  onTestFinished(() => simulator.stop());
  const events: EmittedEvent[] = [];
  const bus = new EventBus(gatewayEvents);
  bus.listen((event) => void events.push(event));
  const { send, ...transport } = createUndiciTransport({ connectionsPerOrigin: 4_096 });
  onTestFinished(() => transport.close());
  const redactor = new Redactor();
  const gateway = await openGateway({
    clock: systemClock,
    random: systemRandom,
    ids: systemIds,
    events: bus,
    redactor,
    transport: world.usesCallbacks === false ? transport : { ...transport, send },
    stores: world.stores ?? memoryGatewayStores(systemClock),
    options: { ...defaultOptions(), ...quick, ...world.options },
    env: {
      ...Object.fromEntries(world.providers.map(({ name }) => [variableOf(name), `sk-${name}`])),
      ...world.env,
    },
  });
  onTestFinished(() => gateway.close());
  for (const input of modelInputs(world, simulator))
    if (!gateway.models.listCallable().some(({ name }) => name === input.name))
      await gateway.models.add(input);

  const {
    dependencies,
    auditRows,
    emitted: httpEvents,
  } = createTestDeps({
    gateway,
    redactor,
    clock: systemClock,
    allowedOrigins: world.allowedOrigins ?? [],
    access: { gatewayKeys: gateway, organizationKeys: { check: () => null } },
  });
  const server = await buildServer(dependencies);
  await server.listen({ host: '127.0.0.1', port: 0, backlog: 4_096 });
  onTestFinished(() => server.close());
  const url = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
  // A thousand connections at once take their time on a busy machine.
  const dispatcher = new Agent({ connect: { timeout: 120_000 }, headersTimeout: 0, bodyTimeout: 0 });
  onTestFinished(() => dispatcher.destroy());
  const call: GatewayWorld['call'] = (method, path, body, headers = {}) =>
    fetch(url + path, {
      dispatcher,
      method,
      headers: {
        authorization: `Bearer ${adminToken}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  return {
    url,
    server,
    simulator,
    gateway,
    events,
    httpEvents,
    auditRows,
    calls: (model) => simulator.stats().models[model]?.calls ?? 0,
    call,
    chat: (body = {}, headers = {}) =>
      call(
        'POST',
        '/v1/chat/completions',
        { model: 'auto', messages: [{ role: 'user', content: 'hello' }], ...body },
        headers,
      ),
  };
}

const variableOf = (provider: string): string => `${provider.toUpperCase()}_API_KEY`;

function modelInputs(
  { providers, models = {} }: GatewayWorldOptions,
  simulator: ModelsSimulator,
): readonly ModelInput[] {
  return providers.flatMap((provider) =>
    (provider.models as readonly { readonly name: string; readonly kind?: string }[]).map((model) => ({
      name: `${provider.name}/${model.name}`,
      model: model.name,
      provider: provider.name,
      baseUrl: simulator.baseUrl(provider.name),
      envVar: variableOf(provider.name),
      capabilities: { vision: model.kind !== 'embeddings', embeddings: model.kind === 'embeddings' },
      ...models[`${provider.name}/${model.name}`],
    })),
  );
}

export function defaultOptions(): GatewayOptions {
  return Object.fromEntries(
    Object.entries(gatewayOptions.fields).map(([name, field]) => [name, field.default]),
  ) as GatewayOptions;
}
