// Rejected provider keys in the ledger of a whole server: one row per model, repaired by a probe.
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RunningServer } from '../../src/app/index.ts';
import { startServer } from '../../src/app/start.ts';
import type { Config } from '../../src/config/index.ts';
import type { ModelsSimulator } from '../../src/simulators/models/simulator.ts';
import { readScenario } from '../../src/simulators/models/scenario.ts';
import { startModelsSimulator } from '../../src/simulators/models/simulator.ts';
import { callAsAdmin, testConfig } from '../support/test-server.ts';

interface Row {
  readonly id: string;
  readonly kind: string;
  readonly subject: string;
  readonly cause: string;
  readonly message: string;
  readonly count: number;
  readonly resolution: string | null;
  readonly repair_attempts: number;
  readonly last_repair_error: string | null;
}

const good = 'sk-good-key-000001';
const bad = 'sk-wrong-key-000002';

async function simulated(): Promise<ModelsSimulator> {
  const models = ['a', 'b'].map((name) => ({ name }));
  const simulator = await startModelsSimulator({
    scenario: readScenario({ providers: [{ name: 'acme', keys: [good], models }] }),
  });
  onTestFinished(() => simulator.stop());
  return simulator;
}

/** A server whose models `acme/a` and `acme/b` use the key in ACME_API_KEY. */
async function serverWith(config: Config, key: string, simulator?: ModelsSimulator): Promise<RunningServer> {
  const server = await startServer(config, { role: 'serve', env: { ACME_API_KEY: key } });
  onTestFinished(() => server.stop());
  for (const model of simulator ? ['a', 'b'] : [])
    await callAsAdmin(server, 'POST', '/api/v1/models', {
      name: `acme/${model}`,
      model,
      provider: 'acme',
      base_url: simulator?.baseUrl('acme'),
      env_var: 'ACME_API_KEY',
    });
  return server;
}

const chat = async (server: RunningServer, model: string) =>
  (
    await callAsAdmin(server, 'POST', '/v1/chat/completions', {
      model,
      messages: [{ role: 'user', content: 'hello' }],
    })
  ).status;

async function rows(server: RunningServer, state = 'open'): Promise<readonly Row[]> {
  const path = `/api/v1/ledger?kind=gateway.key-rejected&state=${state}`;
  const { body } = await callAsAdmin(server, 'GET', path);
  return [...(body as { entries: readonly Row[] }).entries].sort((x, y) => (x.subject < y.subject ? -1 : 1));
}

const eventualRows = (server: RunningServer) => expect.poll(() => rows(server), { timeout: 60_000 });

/** Runs the repair of the kind and waits for its end. */
async function repair(server: RunningServer): Promise<void> {
  const response = await callAsAdmin(server, 'POST', '/api/v1/ledger/repair', {
    kind: 'gateway.key-rejected',
  });
  const { job_id } = response.body as { job_id: string };
  const state = async () =>
    ((await callAsAdmin(server, 'GET', `/api/v1/jobs/${job_id}`)).body as { state: string }).state;
  await expect.poll(state).toBe('completed');
}

const modelIdOf = async (server: RunningServer, name: string) =>
  ((await callAsAdmin(server, 'GET', '/api/v1/models')).body as { id: number; name: string }[]).find(
    (model) => model.name === name,
  )?.id ?? 0;

const clearCooldowns = async (server: RunningServer, name: string) =>
  callAsAdmin(
    server,
    'PATCH',
    `/api/v1/models/${await modelIdOf(server, name)}/availability?retry_after_seconds=0`,
  );

describe('a key rejected by its provider', () => {
  it('is a ledger row per model with the remedy, open until the key is accepted', async () => {
    const simulator = await simulated();
    const config = await testConfig();
    const wrong = await serverWith(config, bad, simulator);
    expect(await chat(wrong, 'auto')).toBe(503);
    await eventualRows(wrong).toMatchObject([
      { kind: 'gateway.key-rejected', subject: 'acme/a', cause: 'authentication', count: 1 },
      { kind: 'gateway.key-rejected', subject: 'acme/b', cause: 'authentication', count: 1 },
    ]);
    const [row] = await rows(wrong);
    expect(row?.message).toMatch(/^acme rejects a key in ACME_API_KEY for acme\/a: .*Set a valid key there/);
    expect(JSON.stringify(await rows(wrong))).not.toContain(bad);

    // It is cooling down: the repair reports until when and makes no call.
    const before = simulator.stats().models['a']?.calls;
    await repair(wrong);
    const [cooling] = await rows(wrong);
    expect(cooling?.last_repair_error).toMatch(
      /acme\/a is cooling down until 2\d\d\d-.*headworks models clear-cooldown/,
    );
    expect(simulator.stats().models['a']?.calls).toBe(before);

    // It is still rejected: the same row, seen once more.
    await clearCooldowns(wrong, 'acme/a');
    await repair(wrong);
    await eventualRows(wrong).toMatchObject([
      { subject: 'acme/a', count: 2 },
      { subject: 'acme/b', count: 1 },
    ]);
    expect((await rows(wrong))[0]?.last_repair_error).toMatch(/acme\/a still fails: authentication/);
    await wrong.stop();

    // With a valid key the cooldown of the old one is irrelevant.
    const right = await serverWith(config, good);
    await repair(right);
    expect(await rows(right)).toEqual([]);
    expect(await rows(right, 'resolved')).toMatchObject([
      { subject: 'acme/a', resolution: 'repair' },
      { subject: 'acme/b', resolution: 'repair' },
    ]);
    expect(await chat(right, 'acme/a')).toBe(200);
  });

  it('is not repaired because another key of the model works', async () => {
    const simulator = await simulated();
    const server = await serverWith(await testConfig(), `${bad},${good}`, simulator);
    expect(await chat(server, 'acme/a')).toBe(200);
    await eventualRows(server).toMatchObject([{ subject: 'acme/a', count: 1 }]);
    await repair(server);
    expect((await rows(server))[0]?.last_repair_error).toContain('is cooling down until');
    await clearCooldowns(server, 'acme/a');
    await repair(server);
    await eventualRows(server).toMatchObject([{ subject: 'acme/a' }]);
    expect((await rows(server))[0]?.last_repair_error).toContain('is cooling down until');
  });

  it('for missing credit names that cause, and is gone when the model is disabled', async () => {
    const simulator = await simulated();
    simulator.script('b', [{ fault: '402' }]);
    const server = await serverWith(await testConfig(), good, simulator);
    expect(await chat(server, 'acme/b')).toBe(200);
    await eventualRows(server).toMatchObject([{ subject: 'acme/b', cause: 'payment' }]);
    expect((await rows(server))[0]?.message).toContain('Add credit to the account');
    const id = await modelIdOf(server, 'acme/b');
    await callAsAdmin(server, 'PATCH', `/api/v1/models/${id}/active`, { is_active: false });
    await repair(server);
    expect(await rows(server, 'all')).toMatchObject([{ subject: 'acme/b', resolution: 'gone' }]);
  });

  it('is repaired only by a successful probe', async () => {
    const simulator = await simulated();
    simulator.script('a', [{ fault: '403' }]);
    const server = await serverWith(await testConfig(), good, simulator);
    await chat(server, 'acme/a');
    await eventualRows(server).toHaveLength(1);
    await clearCooldowns(server, 'acme/a');
    simulator.script('a', [{ fault: '500' }]);
    await repair(server);
    expect(await rows(server)).toMatchObject([
      { subject: 'acme/a', last_repair_error: expect.stringContaining('server-error') as string },
    ]);
    await repair(server);
    expect(await rows(server)).toEqual([]);
    expect(simulator.stats().models['a']?.calls).toBe(3);
  });
});
