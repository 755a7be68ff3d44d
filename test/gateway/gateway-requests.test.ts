// Cost, limits of keys and the log of requests: over HTTP, with simulated providers and a real Postgres.
import { connect } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/index.ts';
import { openGatewayStores } from '../../src/gateway/open-gateway.ts';
import { sql } from '../../src/platform/postgres/sql.ts';
import { retentionRules } from '../../src/gateway/state/gateway-keys.ts';
import type { GatewayWorld, GatewayWorldOptions } from '../support/gateway/gateway-world.ts';
import { gatewayWorld } from '../support/gateway/gateway-world.ts';
import { adminToken } from '../support/http-dependencies.ts';
import type { MigratedDatabase } from '../support/migrated-databases.ts';
import { migratedDatabases } from '../support/migrated-databases.ts';

interface Logged {
  readonly id: number;
  readonly request_id: string;
  readonly caller: string;
  readonly api: string;
  readonly requested_model: string;
  readonly model: string | null;
  readonly status: string;
  readonly outcome: string;
  readonly attempts: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cost_usd: number | null;
  readonly duration_ms: number;
  readonly first_token_ms: number | null;
}

interface LoggedDetails extends Omit<Logged, 'attempts'> {
  readonly attempts: readonly {
    readonly model: string;
    readonly outcome: string;
    readonly cost_usd: unknown;
  }[];
  readonly content: { readonly request: string; readonly response: string | null } | null;
}

const price = { inputPerMillion: 2_000, outputPerMillion: 8_000 };
const providers = [
  { name: 'alpha', models: [{ name: 'a' }] },
  { name: 'beta', models: [{ name: 'b' }] },
];
const models = { 'alpha/a': { price } };

describe.each(migratedDatabases)('on Postgres, %s', (_kind, open) => {
  let opened: MigratedDatabase;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.dispose());

  const stores = () => openGatewayStores({ database: opened.database, redis: null }, systemClock);

  /** Models of an earlier simulator must be gone. */
  const world = async (options: Partial<GatewayWorldOptions> = {}) => {
    await opened.database.query(sql`
      truncate gateway_models, gateway_cooldowns, gateway_attempts, gateway_keys, gateway_usage,
        gateway_request_contents`);
    return gatewayWorld({ providers, models, stores: stores(), ...options });
  };

  const createKey = async (at: GatewayWorld, limits: object = {}) => {
    const created = await at.call('POST', '/api/v1/keys', { name: 'client', ...limits });
    expect(created.status).toBe(201);
    const { id, key } = (await created.json()) as { readonly id: string; readonly key: string };
    return { id, caller: `key:${id}`, headers: { authorization: `Bearer ${key}` } };
  };

  const list = async (at: GatewayWorld, query: string, headers?: Record<string, string>) => {
    const response = await at.call('GET', `/api/v1/gateway/requests?${query}`, undefined, headers);
    expect(response.status).toBe(200);
    return ((await response.json()) as { readonly requests: readonly Logged[] }).requests;
  };

  const details = async (at: GatewayWorld, id: number | undefined) =>
    (await (await at.call('GET', `/api/v1/gateway/requests/${id}`)).json()) as LoggedDetails;

  const messages = [{ role: 'user', content: 'hello' }];

  it('a completed request has its tokens and cost, in the log and in the usage of its key', async () => {
    const at = await world();
    const { caller, headers } = await createKey(at);
    const response = await at.chat({ model: 'alpha/a' }, headers);
    const { usage } = (await response.json()) as {
      readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
    };
    const cost = (usage.prompt_tokens * 2 + usage.completion_tokens * 8) / 1_000;
    const [logged] = await list(at, `caller=${caller}`);
    expect(logged).toMatchObject({
      request_id: response.headers.get('x-request-id'),
      caller,
      api: 'chat',
      requested_model: 'alpha/a',
      model: 'alpha/a',
      status: 'completed',
      outcome: 'success',
      attempts: 1,
      prompt_tokens: usage.prompt_tokens,
      completion_tokens: usage.completion_tokens,
      first_token_ms: null,
    });
    expect(logged?.cost_usd).toBeCloseTo(cost, 12);
    const unpriced = await at.chat({ model: 'beta/b' }, headers);
    expect(unpriced.status).toBe(200);
    expect((await list(at, `caller=${caller}&model=beta/b`))[0]?.cost_usd).toBeNull();
    const used = (await (await at.call('GET', `/api/v1/usage?caller=${caller}`)).json()) as {
      readonly usage: readonly object[];
      readonly totals: readonly object[];
    };
    expect(used.usage).toMatchObject([
      { model: 'alpha/a', cost_usd: expect.closeTo(cost, 12) as number, unpriced_requests: 0 },
      { model: 'beta/b', cost_usd: null, unpriced_requests: 1 },
    ]);
    expect(used.totals).toMatchObject([
      { caller, requests: 2, cost_usd: expect.closeTo(cost, 12) as number, unpriced_requests: 1 },
    ]);
    const { keys } = (await (await at.call('GET', '/api/v1/keys')).json()) as {
      readonly keys: readonly { readonly id: string; readonly usd_today: number }[];
    };
    expect(keys.find(({ id }) => `key:${id}` === caller)?.usd_today).toBeCloseTo(cost, 12);
  });

  it('a request of an organization is counted for the organization', async () => {
    const at = await world();
    const { signal } = new AbortController();
    await at.gateway.client.completeText({
      requestId: `e1/${Math.random()}`,
      caller: 'org:org_1',
      model: 'alpha/a',
      messages: [{ role: 'user', content: 'hello' }],
      signal,
    });
    const [row] = await list(at, 'caller=org:org_1');
    expect(row).toMatchObject({ status: 'completed', cost_usd: expect.any(Number) as number });
    const { totals } = (await (await at.call('GET', '/api/v1/usage?caller=org:org_1')).json()) as {
      readonly totals: readonly object[];
    };
    expect(totals).toMatchObject([{ caller: 'org:org_1', requests: 1, cost_usd: row?.cost_usd }]);
  });

  it('a fallback shows every attempt, and only the last one ends the request', async () => {
    const at = await world();
    const { caller, headers } = await createKey(at);
    at.simulator.script('a', [{ fault: '500' }]);
    const id = 'chosen-by-the-caller';
    await at.chat({ model: 'alpha/a' }, { ...headers, 'x-request-id': id });
    const rows = await list(at, `caller=${caller}&request_id=${id}`);
    expect(rows).toMatchObject([
      { status: 'completed', model: 'beta/b', requested_model: 'alpha/a', attempts: 2 },
    ]);
    expect(await details(at, rows[0]?.id)).toMatchObject({
      request_id: expect.stringMatching(`^${id}/`) as string,
      attempts: [
        { model: 'alpha/a', outcome: 'server-error', status: 500, cost_usd: null },
        { model: 'beta/b', outcome: 'success', status: 200 },
      ],
      content: null,
    });
  });

  it('a stream has the time of its first content, and tokens at its end', async () => {
    const at = await world();
    const { caller, headers } = await createKey(at);
    await (await at.chat({ model: 'alpha/a', stream: true }, headers)).text();
    await expect.poll(() => list(at, `caller=${caller}`)).toHaveLength(1);
    const [row] = await list(at, `caller=${caller}`);
    expect(row).toMatchObject({ status: 'completed', cost_usd: expect.any(Number) as number });
    expect(row?.first_token_ms).toBeGreaterThan(0);
    expect(row?.duration_ms).toBeGreaterThanOrEqual(row?.first_token_ms ?? Infinity);
    expect(row?.completion_tokens).toBeGreaterThan(0);
  });

  it('a caller that disconnects leaves a canceled request', async () => {
    const at = await world();
    at.simulator.script('a', [{ fault: 'hang' }]);
    const body = JSON.stringify({ model: 'alpha/a', messages });
    const socket = connect(Number(new URL(at.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${adminToken}\r\n` +
        `x-request-id: disconnected-1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await expect.poll(() => at.simulator.open()).toBe(1);
    socket.destroy();
    await expect.poll(() => list(at, 'request_id=disconnected-1&status=canceled')).toHaveLength(1);
    const [row] = await list(at, 'request_id=disconnected-1');
    expect(row).toMatchObject({ outcome: 'canceled', model: null, attempts: 1, cost_usd: null });
    expect((await details(at, row?.id)).attempts).toMatchObject([{ model: 'alpha/a', outcome: 'canceled' }]);
  });

  it('requests that end without a model are in the log: failed, or rejected before any call', async () => {
    const at = await world({ options: { maxRetries: 0 } });
    const { caller, headers } = await createKey(at);
    at.simulator.script('a', [{ fault: '500' }]);
    const only = { ...headers, 'x-headworks-fallback': 'none' };
    expect((await at.chat({ model: 'alpha/a' }, only)).status).toBe(503);
    expect((await at.chat({ model: 'no/such' }, only)).status).toBe(404);
    expect(await list(at, `caller=${caller}`)).toMatchObject([
      { status: 'rejected', outcome: 'GATEWAY_MODEL_NOT_FOUND', requested_model: 'no/such', attempts: 0 },
      { status: 'failed', outcome: 'GATEWAY_EXHAUSTED', requested_model: 'alpha/a', attempts: 1 },
    ]);
    expect(await list(at, `caller=${caller}&status=rejected`)).toHaveLength(1);
  });

  it('limits reject a request before any call, in the error format of its API', async () => {
    const at = await world();
    const perMinute = await createKey(at, { requests_per_minute: 2 });
    const perDay = await createKey(at, { usd_per_day: 0.001 });
    for (let request = 0; request < 2; request++)
      expect((await at.chat({ model: 'alpha/a' }, perMinute.headers)).status).toBe(200);
    expect((await at.chat({ model: 'alpha/a' }, perDay.headers)).status).toBe(200);
    const calls = at.calls('a') + at.calls('b');

    const chat = await at.chat({ model: 'alpha/a' }, perMinute.headers);
    expect(chat.status).toBe(429);
    expect(Number(chat.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(Number(chat.headers.get('retry-after'))).toBeLessThanOrEqual(61);
    expect(chat.headers.get('x-should-retry')).toBeNull();
    expect(await chat.json()).toMatchObject({
      error: {
        type: 'rate_limit_error',
        code: 'rate_limit_exceeded',
        headworks_code: 'GATEWAY_KEY_LIMIT_REACHED',
        limit: { name: 'requests_per_minute', value: 2, used: 2, resets_at: expect.any(String) as string },
      },
    });

    const message = { model: 'alpha/a', max_tokens: 10, messages };
    const anthropic = await at.call('POST', '/v1/messages', message, perDay.headers);
    expect(anthropic.status).toBe(429);
    expect(anthropic.headers.get('x-should-retry')).toBe('false');
    const midnight = new Date(Math.ceil(Date.now() / 86_400_000) * 86_400_000).toISOString();
    expect(await anthropic.json()).toMatchObject({
      type: 'error',
      error: {
        type: 'rate_limit_error',
        message: expect.stringContaining('0.001 US dollars per day') as string,
        limit: { name: 'usd_per_day', value: 0.001, resets_at: midnight },
      },
    });

    expect(at.calls('a') + at.calls('b')).toBe(calls);
    for (const { caller } of [perMinute, perDay])
      expect((await list(at, `caller=${caller}`))[0]).toMatchObject({
        status: 'rejected',
        outcome: 'GATEWAY_KEY_LIMIT_REACHED',
        attempts: 0,
      });

    const changed = await at.call('PATCH', `/api/v1/keys/${perDay.id}`, { usd_per_day: null });
    expect(await changed.json()).toMatchObject({ usd_per_day: null });
    expect((await at.chat({ model: 'alpha/a' }, perDay.headers)).status).toBe(200);
    expect((await at.call('PATCH', `/api/v1/keys/${perDay.id}`, {})).status).toBe(400);
  });

  it('a key sees its own requests only', async () => {
    const at = await world();
    const [one, two] = [await createKey(at), await createKey(at)];
    await at.chat({ model: 'alpha/a' }, one.headers);
    const [own] = await list(at, '', one.headers);
    expect(own?.caller).toBe(one.caller);
    expect(await list(at, '', two.headers)).toEqual([]);
    expect(await list(at, `caller=${one.caller}`, two.headers)).toEqual([]);
    const path = `/api/v1/gateway/requests/${own?.id}`;
    expect((await at.call('GET', path, undefined, one.headers)).status).toBe(200);
    expect((await at.call('GET', path, undefined, two.headers)).status).toBe(404);
    expect((await at.call('GET', path)).status).toBe(200);
  });

  it('bodies are kept only on demand, without secrets, and deleted by their own retention', async () => {
    const at = await world({
      options: { logContent: true },
      providers: [{ name: 'alpha', models: [{ name: 'a', completion: 'the answer' }] }],
    });
    const { caller, headers } = await createKey(at);
    const content = `my key is sk-alpha and ${'x'.repeat(100_000)}`;
    await at.chat({ model: 'alpha/a', messages: [{ role: 'user', content }] }, headers);
    await (await at.chat({ model: 'alpha/a', stream: true }, headers)).text();
    await at.chat({ model: 'no/such' }, headers);
    await expect.poll(() => list(at, `caller=${caller}`)).toHaveLength(3);
    const [rejected, streamed, whole] = await Promise.all(
      (await list(at, `caller=${caller}`)).map(({ id }) => details(at, id)),
    );
    expect(whole?.content?.request).toContain('my key is');
    expect(whole?.content?.request).not.toContain('sk-alpha');
    expect(whole?.content?.request).toHaveLength(65_537);
    expect(whole?.content?.response).toContain('the answer');
    expect(streamed?.content?.response).toMatch(/^data: .*\[DONE\]\s*$/s);
    expect(rejected?.content?.response).toBeNull();
    expect(JSON.stringify(at.events)).not.toContain('the answer');

    const days = {
      attemptsDays: 90,
      requestContentDays: 7,
      responsesDays: 30,
      discoveriesDays: 365,
      usageDays: 400,
    };
    const rule = retentionRules(stores(), days).find(({ kind }) => kind === 'gateway-request-contents');
    expect(rule?.keepDays).toBe(7);
    expect(await rule?.purge(new Date(Date.now() + 60_000), 100)).toBeGreaterThanOrEqual(3);
    expect((await details(at, whole?.id)).content).toBeNull();
  });
});
