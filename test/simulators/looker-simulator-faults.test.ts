// The simulated Looker with limits, faults, failures and latency.
import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../support/core/virtual-clock.ts';
import type { LookerSimulator, LookerSimulatorOptions } from '../../src/simulators/looker/server.ts';
import { startLookerSimulator } from '../../src/simulators/looker/server.ts';
import { SimulatorClient } from './looker-simulator-client.ts';

const running: LookerSimulator[] = [];

async function start(options: LookerSimulatorOptions = {}) {
  const simulator = await startLookerSimulator({ items: { dashboards: 50, looks: 5 }, ...options });
  running.push(simulator);
  const client = new SimulatorClient(simulator);
  await client.login();
  return { simulator, client };
}

afterEach(async () => {
  await Promise.all(running.splice(0).map((simulator) => simulator.stop()));
});

async function tokenOf({ url, clientId, clientSecret }: LookerSimulator): Promise<string> {
  const body = new URLSearchParams({ client_id: clientId, client_secret: clientSecret });
  const response = await fetch(`${url}/api/4.0/login`, { method: 'POST', body });
  return ((await response.json()) as { access_token: string }).access_token;
}

const page = '/dashboards/search?sorts=id&limit=10&offset=10';
const always = { probability: 1 };

describe('rate limits', () => {
  it('hold on arrival, and Retry-After is enough', async () => {
    const clock = new VirtualClock();
    const { client, simulator } = await start({
      clock,
      rateLimits: { perSecond: 3, perMinute: 5 },
      retryAfter: 'milliseconds',
    });
    const burst = async () => {
      const responses = await Promise.all(Array.from({ length: 4 }, () => client.get('/looks/1')));
      return responses
        .map(({ status, headers }) => [status, headers.get('retry-after-ms')] as const)
        .sort(([a], [b]) => a - b);
    };
    expect(await burst()).toEqual([
      [200, null],
      [200, null],
      [200, null],
      [429, '1000'],
    ]);
    await clock.advance(999);
    expect((await client.get('/looks/1')).status).toBe(429);
    await clock.advance(1);
    expect(await burst()).toEqual([
      [200, null],
      [200, null],
      [429, '59000'],
      [429, '59000'],
    ]);
    await clock.advance(59_000);
    expect((await client.get('/looks/1')).status).toBe(200);
    expect(simulator.stats()).toMatchObject({
      maxPerSecond: 5,
      maxPerMinute: 9,
      responded: { '200': 7, '429': 4 },
    });
  });

  it('do not apply to logins and versions', async () => {
    const { client, simulator } = await start({ rateLimits: { perMinute: 1 } });
    for (let time = 0; time < 3; time++) {
      expect((await client.login()).status).toBe(200);
      expect((await client.get('/versions')).status).toBe(200);
    }
    expect((await client.get('/user')).status).toBe(200);
    expect(simulator.stats()).toMatchObject({ total: 8, maxPerMinute: 1 });
  });

  it.each([
    ['seconds', { 'retry-after': /^60$/ }],
    ['date', { 'retry-after': /^\w{3}, \d\d \w{3} 2023 22:14:20 GMT$/ }],
    ['milliseconds', { 'retry-after-ms': /^60000$/ }],
    ['none', {}],
  ] as const)('report when to retry as %s', async (retryAfter, expected) => {
    const { client } = await start({ clock: new VirtualClock(), rateLimits: { perMinute: 1 }, retryAfter });
    await client.get('/looks/1');
    const { headers } = await client.get('/looks/1');
    const hints = [...headers].filter(([name]) => name.startsWith('retry-after'));
    expect(Object.fromEntries(hints)).toEqual(
      Object.fromEntries(
        Object.entries(expected).map(([name, pattern]) => [name, expect.stringMatching(pattern)]),
      ),
    );
    expect(hints).toHaveLength(Object.keys(expected).length);
  });
});

describe('a fault', () => {
  it.each([
    ['429', 429],
    ['500', 500],
    ['503', 503],
  ] as const)('%s returns that status with an error body', async (name, status) => {
    const { client } = await start({ faults: { [name]: always } });
    const response = await client.get(page);
    expect(response.status).toBe(status);
    expect(response.body).toMatchObject({
      message: expect.any(String),
      documentation_url: expect.any(String),
    });
    expect(response.headers.get('retry-after')).toBe(name === '429' ? '1' : null);
  });

  it.each([
    ['reset', 'none'],
    ['truncated', '200'],
  ] as const)('%s breaks the connection', async (name, counted) => {
    const { client, simulator } = await start({ faults: { [name]: always } });
    simulator.reset();
    await expect(client.get(page)).rejects.toThrow();
    expect(simulator.stats().responded).toEqual({ [counted]: 1 });
  });

  it('malformed sends, with 200, half a body, a web page, a text, or an object instead of a list', async () => {
    const { simulator } = await start({ faults: { malformed: always } });
    const token = await tokenOf(simulator);
    const seen = new Set<string>();
    for (let offset = 0; offset < 40; offset++) {
      const address = `${simulator.url}/api/4.0/dashboards/search?sorts=id&limit=1&offset=${offset}`;
      const response = await fetch(address, { headers: { authorization: `token ${token}` } });
      expect(response.status).toBe(200);
      seen.add(`${response.headers.get('content-type')?.split(';')[0]} ${(await response.text())[0]}`);
    }
    expect([...seen].sort()).toEqual([
      'application/json [',
      'application/json {',
      'text/html <',
      'text/plain A',
    ]);
  });

  it('lost-id and lost-explores remove a field of an existing item', async () => {
    const { client, simulator } = await start({
      items: { dashboards: 30, looks: 5, lookml_models: 3, explores: 4 },
      faults: { 'lost-id': always },
    });
    expect(await client.ids(page)).toEqual([
      '',
      ...Array.from({ length: 9 }, (_, index) => String(index + 12)),
    ]);
    expect((await client.get('/looks/3')).body).not.toHaveProperty('id');
    simulator.configure({ faults: { 'lost-explores': always } });
    const models = (await client.get('/lookml_models')).body as { explores: unknown }[];
    expect(models.map(({ explores }) => explores === null)).toEqual([true, false, false]);
    expect(await client.ids(page)).toHaveLength(10);
  });

  it.each([
    ['login-500', 500],
    ['login-429', 429],
  ] as const)('%s affects only logins', async (name, status) => {
    const { client, simulator } = await start();
    simulator.configure({ faults: { [name]: always } });
    expect((await client.get(page)).status).toBe(200);
    expect((await client.login()).status).toBe(status);
  });

  it('login-malformed and login-reset return no token', async () => {
    const { client, simulator } = await start();
    simulator.configure({ faults: { 'login-malformed': always } });
    await expect(client.login()).rejects.toThrow();
    simulator.configure({ faults: { 'login-reset': always } });
    await expect(client.login()).rejects.toThrow();
  });

  it('hang never responds, and does not prevent the simulator from stopping', async () => {
    const { client, simulator } = await start({ faults: { hang: always } });
    const pending = client.get(page).then(
      () => 'responded',
      () => 'cut off',
    );
    while (simulator.stats().responded['none'] !== 1) await new Promise((resolve) => setTimeout(resolve, 5));
    await simulator.stop();
    expect(await pending).toBe('cut off');
  });

  it('slow responds correctly after a delay', async () => {
    const clock = new VirtualClock();
    const { client, simulator } = await start({ clock, faults: { slow: { probability: 1, ms: 300 } } });
    simulator.configure({ latencyMs: 50 });
    const pending = client.get(page);
    while (clock.pending === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await clock.advance(349);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    expect((await pending).body).toHaveLength(10);
  });

  it('expired-token invalidates all tokens until the next login', async () => {
    const { client, simulator } = await start({ faults: { 'expired-token': always } });
    expect((await client.get(page)).status).toBe(401);
    simulator.configure({ faults: {} });
    expect((await client.get(page)).status).toBe(401);
    await client.login();
    expect((await client.get(page)).status).toBe(200);
  });

  it('duplicate and no-id add an item and remove none', async () => {
    const { client, simulator } = await start({ faults: { duplicate: always } });
    const whole = Array.from({ length: 10 }, (_, index) => String(index + 11));
    expect(await client.ids(page)).toEqual(['10', ...whole]);
    simulator.configure({ faults: { 'no-id': always } });
    expect(await client.ids(page)).toEqual(['', ...whole]);
    expect(await client.ids('/dashboards/search?sorts=id&limit=10&offset=50')).toEqual([]);
  });

  it('of content does not affect logins, versions and the user', async () => {
    const { client } = await start({ faults: { '500': always, hang: always } });
    expect((await client.login()).status).toBe(200);
    expect((await client.get('/versions')).status).toBe(200);
    expect((await client.get('/user')).status).toBe(200);
  });

  it('affects the same calls with the same seed', async () => {
    const statuses = async (seed: number) => {
      const { client } = await start({ seed, faults: { '500': { probability: 0.3 } } });
      const offsets = Array.from({ length: 20 }, (_, index) => index);
      const responses = await Promise.all(
        offsets.map((offset) => client.get(`/looks/search?offset=${offset}&limit=1`)),
      );
      return responses.map(({ status }) => status);
    };
    const first = await statuses(3);
    expect(new Set(first)).toEqual(new Set([200, 500]));
    expect(await statuses(3)).toEqual(first);
    expect(await statuses(4)).not.toEqual(first);
  });
});

describe('a permanent failure', () => {
  it('affects its page every time until it is removed', async () => {
    const { client, simulator } = await start({
      failures: [
        { type: 'dashboards', offset: 15 },
        { type: 'looks', id: '3', status: 403 },
      ],
    });
    for (let time = 0; time < 3; time++) expect((await client.get(page)).status).toBe(500);
    expect((await client.get('/dashboards/search?sorts=id&limit=10')).status).toBe(200);
    expect((await client.get('/looks/3')).status).toBe(403);
    expect((await client.get('/looks/4')).status).toBe(200);
    simulator.configure({ failures: [] });
    expect((await client.get(page)).status).toBe(200);
  });
});

describe('starting', () => {
  it('names the port when it is in use', async () => {
    const { simulator } = await start();
    const port = Number(new URL(simulator.url).port);
    await expect(startLookerSimulator({ port })).rejects.toMatchObject({
      code: 'PORT_UNAVAILABLE',
      message: expect.stringContaining(`Port ${port} on 127.0.0.1 is in use`),
    });
  });

  it.each([
    [{ latencyMs: -1 }, 'latencyMs'],
    [{ faults: { '500': { probability: 1.5 } } }, 'faults.500.probability'],
    [{ items: { explores: 3 } }, 'items.explores'],
  ])('rejects %j by name', async (options, name) => {
    await expect(startLookerSimulator(options)).rejects.toThrow(name);
  });
});
