// Discovery of models: lists over real HTTP, results in Postgres, one reading over several servers.
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RunningServer } from '../../src/app/index.ts';
import { startServer } from '../../src/app/start.ts';
import type { EmittedEvent } from '../../src/core/index.ts';
import { EventBus, Redactor, systemClock, systemIds, systemRandom } from '../../src/core/index.ts';
import type { Gateway } from '../../src/gateway/index.ts';
import { gatewayEvents, openGateway } from '../../src/gateway/index.ts';
import { gatewayOptions } from '../../src/gateway/options.ts';
import type { Database } from '../../src/platform/postgres/ports.ts';
import { openServerDatabase } from '../../src/platform/postgres/server/server-store.ts';
import { defaultOptions } from '../support/gateway/gateway-world.ts';
import type { ListServer } from '../support/gateway/list-server.ts';
import { startListServer } from '../support/gateway/list-server.ts';
import { migratedDatabase } from '../support/migrated-databases.ts';
import { databaseUrl, uniqueName } from '../support/services.ts';
import { callAsAdmin, testConfig } from '../support/test-server.ts';

const secret = 'sk-discovery-secret-000001';

function providers(list: readonly object[]) {
  const parsed = gatewayOptions.fields.providers.parse(list);
  if ('value' in parsed) return parsed.value;
  throw new Error(parsed.problem);
}

async function database(schema = uniqueName('discovery')) {
  const open = () => openServerDatabase({ url: databaseUrl(), schema, clock: systemClock, poolSize: 4 });
  const { database: opened, dispose } = await migratedDatabase(await open());
  onTestFinished(dispose);
  return { opened, open };
}

async function gatewayOn(
  store: Database,
  list: ListServer,
  { isScheduled = false, models = [] as readonly object[], discovery = {} } = {},
) {
  const events: EmittedEvent[] = [];
  const bus = new EventBus(gatewayEvents);
  bus.listen((event) => void events.push(event));
  const gateway = await openGateway({
    clock: systemClock,
    random: systemRandom,
    ids: systemIds,
    events: bus,
    redactor: new Redactor(),
    stores: { database: store, redis: null },
    options: {
      ...defaultOptions(),
      // Built-in models of groq, at another address; acme is new.
      providers: providers([
        { name: 'groq', baseUrl: `${list.url}/groq`, discovery },
        { name: 'acme', baseUrl: `${list.url}/acme`, envVar: 'ACME_API_KEY', models },
      ]),
    },
    env: { GROQ_API_KEY: secret },
    probesModels: isScheduled,
  });
  onTestFinished(() => gateway.close());
  return { gateway, events };
}

const builtIn = 'llama-3.3-70b-versatile';
const priced = (id: string, dollars: number) => ({
  id,
  context_window: 1_000,
  pricing: { prompt: String(dollars / 1e6), completion: String((2 * dollars) / 1e6) },
});

const discover = async (gateway: Gateway, isDryRun = false) => {
  const [found] = await gateway.discovery.discover({ provider: 'groq', isDryRun });
  return [found?.outcome, ...(found?.changes.map(({ change, model }) => `${change} ${model}`) ?? [])];
};

const modelsOf = async (gateway: Gateway) => {
  const views = await gateway.models.list({
    activeOnly: false,
    availableOnly: false,
    configuredOnly: true,
    includeRecent: false,
    windowDays: 7,
  });
  return Object.fromEntries(
    views.map(({ name, state, origin, price }) => [
      name,
      [state, origin, price === null ? null : price.inputPerMillion],
    ]),
  );
};

describe('discovery', () => {
  it('adds models, changes prices, retires after two lists and brings back', async () => {
    const list = await startListServer();
    const { opened, open } = await database();
    const { gateway, events } = await gatewayOn(opened, list);

    list.respond({ data: [priced(builtIn, 0.5), priced('new', 1), { id: 'whisper-large' }] });
    expect(await discover(gateway, true)).toEqual(['completed', `changed groq/${builtIn}`, 'added groq/new']);
    expect(Object.keys(await modelsOf(gateway))).toEqual([`groq/${builtIn}`]);
    expect(await gateway.discovery.list({ limit: 10 })).toEqual([]);

    expect(await discover(gateway)).toEqual(['completed', `changed groq/${builtIn}`, 'added groq/new']);
    expect(await modelsOf(gateway)).toEqual({
      [`groq/${builtIn}`]: ['available', 'built-in', 0.5],
      'groq/new': ['available', 'discovered', 1],
    });
    expect(list.requests.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ['/groq/models', `Bearer ${secret}`],
      ['/groq/models', `Bearer ${secret}`],
    ]);

    list.respond({ data: [priced(builtIn, 0.5), priced('new', 9)] });
    expect(await discover(gateway)).toEqual(['completed', 'changed groq/new']);
    expect(await discover(gateway)).toEqual(['completed']);

    list.respond({ data: [{ id: 'newer' }] });
    expect(await discover(gateway)).toEqual([
      'completed',
      `missing groq/${builtIn}`,
      'missing groq/new',
      'added groq/newer',
    ]);
    // Neither a failure nor an empty list counts.
    list.respond({ error: 'down' }, 503);
    expect(await discover(gateway)).toEqual(['failed']);
    list.respond({ unexpected: true });
    expect(await discover(gateway)).toEqual(['failed']);
    list.respondBy(() => ({ data: 'a'.repeat(20_000_000) }));
    expect(await discover(gateway)).toEqual(['failed']);
    list.respond({ data: [] });
    expect(await discover(gateway)).toEqual(['empty']);
    expect(await modelsOf(gateway)).toMatchObject({ 'groq/new': ['available', 'discovered', 9] });

    list.respond({ data: [{ id: 'newer' }] });
    expect(await discover(gateway)).toEqual(['completed', `retired groq/${builtIn}`, 'retired groq/new']);
    expect(await modelsOf(gateway)).toEqual({
      [`groq/${builtIn}`]: ['retired', 'built-in', 0.5],
      'groq/new': ['retired', 'discovered', 9],
      'groq/newer': ['available', 'discovered', null],
    });
    expect(gateway.models.listCallable().map(({ name }) => name)).toEqual(['groq/newer']);

    // Another server starts: what was learned stays.
    const second = await open();
    onTestFinished(() => second.close());
    const { gateway: other } = await gatewayOn(second, list);
    expect(await modelsOf(other)).toEqual(await modelsOf(gateway));

    list.respond({ data: [priced('new', 9), { id: 'newer' }, { id: builtIn }] });
    expect(await discover(other)).toEqual(['completed', `returned groq/${builtIn}`, 'returned groq/new']);
    await expect
      .poll(() => modelsOf(gateway), { timeout: 60_000 })
      .toMatchObject({ 'groq/new': ['available', 'discovered', 9] });

    const history = await gateway.discovery.list({ provider: 'groq', limit: 20 });
    expect(history.map(({ outcome }) => outcome).toReversed()).toEqual([
      'completed',
      'completed',
      'completed',
      'completed',
      'failed',
      'failed',
      'failed',
      'empty',
      'completed',
      'completed',
    ]);
    const failures = history.flatMap(({ message }) => message ?? []);
    expect(failures).toContain('its response is not a list of models');
    expect(failures).toContainEqual(expect.stringMatching(/^its list of models cannot be read: .*bytes$/));
    const emitted = events.filter(({ name }) => name === 'gateway:models-discovered');
    expect(emitted[0]?.payload).toMatchObject({
      provider: 'groq',
      outcome: 'completed',
      added: 1,
      changed: 1,
    });
    expect(JSON.stringify([history, events])).not.toContain(secret);
  });

  it('leaves configured and added models alone, also those that the list does not have', async () => {
    const list = await startListServer();
    const { opened } = await database();
    const { gateway } = await gatewayOn(opened, list, { models: [{ model: 'large' }] });
    await gateway.models.add({
      name: 'groq/mine',
      provider: 'groq',
      baseUrl: 'https://x.example/v1',
      envVar: 'GROQ_API_KEY',
    });
    list.respond({ data: [{ id: builtIn }, { id: 'mine', context_window: 5 }] });
    for (const _ of [1, 2, 3]) expect(await discover(gateway)).toContain('completed');
    list.respond({ data: [{ id: builtIn, context_window: 131_072 }] });
    for (const _ of [1, 2, 3]) expect(await discover(gateway)).toEqual(['completed']);
    const models = gateway.models.listCallable();
    expect(models.find(({ name }) => name === 'groq/mine')).toMatchObject({
      origin: 'custom',
      missedLists: 0,
      capabilities: { contextTokens: null },
    });
  });

  it('follows pages, and counts nothing as missing when there are too many', async () => {
    const list = await startListServer();
    const { opened } = await database();
    const { gateway } = await gatewayOn(opened, list, { discovery: { query: { limit: '2' } } });
    list.respondBy((path) =>
      path.endsWith('after_id=b')
        ? { data: [{ id: 'c' }], has_more: false, last_id: 'c' }
        : { data: [{ id: 'a' }, { id: 'b' }], has_more: true, last_id: 'b' },
    );
    expect(await discover(gateway)).toEqual([
      'completed',
      `missing groq/${builtIn}`,
      'added groq/a',
      'added groq/b',
      'added groq/c',
    ]);
    expect(list.requests.map(({ url }) => url)).toEqual([
      '/groq/models?limit=2',
      '/groq/models?limit=2&after_id=b',
    ]);
    list.respond({ data: [{ id: 'a' }], has_more: true, last_id: 'a' });
    expect(await discover(gateway)).toEqual(['completed']);
  });

  it('reads each list once per interval, whatever the number of servers', async () => {
    const list = await startListServer();
    list.respond({ data: [{ id: builtIn }, { id: 'new' }] });
    const { opened, open } = await database();
    const others = await Promise.all([open(), open()]);
    for (const other of others) onTestFinished(() => other.close());
    const gateways = await Promise.all(
      [opened, ...others].map((each) => gatewayOn(each, list, { isScheduled: true })),
    );
    for (const { gateway } of gateways)
      await expect
        .poll(() => gateway.models.listCallable().map(({ name }) => name), { timeout: 60_000 })
        .toContain('groq/new');
    expect(list.requests).toHaveLength(1);
    const history = await gateways[0]?.gateway.discovery.list({ limit: 10 });
    expect(history).toMatchObject([{ trigger: 'schedule', outcome: 'completed' }]);
  });

  it('comes last for auto, and is used when it is named or nothing else works', async () => {
    const list = await startListServer();
    list.respond({ data: [{ id: builtIn }, { id: 'aaa' }] });
    const { opened } = await database();
    const { gateway } = await gatewayOn(opened, list);
    await discover(gateway);
    const [own, found] = [`groq/${builtIn}`, 'groq/aaa'].map(
      (name) => gateway.models.listCallable().find((each) => each.name === name)?.id ?? 0,
    );
    expect(await gateway.models.explain(own ?? 0)).toMatchObject({ position: 1 });
    expect(await gateway.models.explain(found ?? 0)).toMatchObject({
      position: 2,
      positionReason: expect.stringContaining('it was discovered'),
    });
    await gateway.models.setActive(own ?? 0, false);
    expect(await gateway.models.explain(found ?? 0)).toMatchObject({ position: 1 });
  });
});

describe('POST /api/v1/models/discover', () => {
  const post = (server: RunningServer, body?: object) =>
    callAsAdmin(server, 'POST', '/api/v1/models/discover', body);

  it('rejects unknown and unconfigured providers, records changes, and reports lasting failures', async () => {
    const list = await startListServer();
    // Some servers repeat the key in their error.
    list.respond({ error: { message: `The key ${secret} is wrong.` } }, 401);
    const config = await testConfig({
      HEADWORKS_GATEWAY_PROVIDERS: JSON.stringify([
        { name: 'acme', baseUrl: list.url, envVar: 'ACME_API_KEY' },
      ]),
    });
    const server = await startServer(config, { role: 'serve', env: { ACME_API_KEY: secret } });
    onTestFinished(() => server.stop());

    expect(await post(server, { provider: 'acne' })).toMatchObject({
      status: 404,
      body: { error: { message: 'There is no provider "acne". Did you mean acme?' } },
    });
    expect(await post(server, { provider: 'openai' })).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('set OPENAI_API_KEY') } },
    });
    expect(await post(server, { provider: 'azure' })).toMatchObject({ status: 400 });
    expect(list.requests).toEqual([]);

    const failed = { outcome: 'failed', message: 'its list of models responded with 401', changes: [] };
    const ledger = async () =>
      (
        (await callAsAdmin(server, 'GET', '/api/v1/ledger?kind=gateway.discovery-failing')).body as {
          entries: readonly object[];
        }
      ).entries;
    expect(await post(server)).toMatchObject({ status: 200, body: { discoveries: [failed] } });
    expect(await ledger()).toEqual([]);
    expect(await post(server)).toMatchObject({ body: { discoveries: [failed] } });
    await expect
      .poll(ledger, { timeout: 60_000 })
      .toMatchObject([
        { subject: 'acme', cause: 'http-401', message: expect.stringContaining('ACME_API_KEY') },
      ]);

    list.respond({ data: [{ id: 'large', context_length: 5 }] });
    const repaired = await callAsAdmin(server, 'POST', '/api/v1/ledger/repair', {
      kind: 'gateway.discovery-failing',
    });
    expect(repaired.status).toBeLessThan(300);
    await expect.poll(ledger, { timeout: 60_000 }).toEqual([]);

    const page = await callAsAdmin(server, 'GET', '/api/v1/models/discoveries?limit=2');
    const { discoveries, next } = page.body as { discoveries: readonly { id: string }[]; next: string };
    expect(discoveries).toMatchObject([
      { provider: 'acme', trigger: 'repair', changes: [{ model: 'acme/large', change: 'added' }] },
      { trigger: 'manual', outcome: 'failed' },
    ]);
    const rest = await callAsAdmin(server, 'GET', `/api/v1/models/discoveries?limit=2&after=${next}`);
    expect(rest.body).toMatchObject({ discoveries: [{ outcome: 'failed' }], next: null });
    expect((await callAsAdmin(server, 'GET', '/api/v1/models')).body).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ name: 'acme/large', origin: 'discovered', retired_at: null }),
      ]),
    );
    const audit = await callAsAdmin(server, 'GET', '/api/v1/audit?limit=20');
    expect(JSON.stringify(audit.body)).toContain('models.discover');
    for (const each of [page, rest, audit]) expect(JSON.stringify(each.body)).not.toContain(secret);
    expect(JSON.stringify(await ledger())).not.toContain(secret);
  });
});
