// The state of the gateway in several processes on one Postgres, during outages and crashes.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { EventBus, systemClock, systemIds, systemRandom } from '../../src/core/index.ts';
import { gatewayEvents } from '../../src/gateway/events.ts';
import { openGatewayStores } from '../../src/gateway/open-gateway.ts';
import { exampleAttempt, exampleCooldown, exampleModel, modelNamed } from '../support/gateway/examples.ts';
import { GatewayState } from '../../src/gateway/state/gateway-state.ts';
import { openServerDatabase } from '../../src/platform/postgres/server/server-store.ts';
import type { MigratedDatabase } from '../support/migrated-databases.ts';
import { migratedDatabase } from '../support/migrated-databases.ts';
import { startPrivatePostgres } from '../support/private-servers.ts';
import { databaseUrl, uniqueName } from '../support/services.ts';

const openDatabase = (url: string, schema: string) =>
  openServerDatabase({ url, schema, clock: systemClock, poolSize: 3 });

/** A separate process from the store's point of view. */
async function openState(url: string, schema: string) {
  const database = await openDatabase(url, schema);
  const events = new EventBus(gatewayEvents);
  const failures: string[] = [];
  events.listen(({ name, payload }) => {
    if (name === 'gateway:store-failed') failures.push(String(payload['what']));
  });
  const state = await GatewayState.open({
    stores: openGatewayStores({ database, redis: null }, systemClock),
    clock: systemClock,
    random: systemRandom,
    ids: systemIds,
    events,
    builtIn: [exampleModel('a/one')],
    configured: [],
    providers: [],
    windowDays: 7,
  });
  let closing: Promise<void> | undefined;
  const close = () => (closing ??= state.close().then(() => database.close()));
  onTestFinished(close);
  return { state, failures, close, modelId: modelNamed(state.models, 'a/one')?.id ?? 0 };
}

/** Three seconds: a notification takes milliseconds, the poll fifteen seconds. */
const soon = { timeout: 60_000, interval: 10 };
const later = { timeout: 60_000, interval: 20 };

const cooldownOf = (modelId: number, forMs = 3_600_000) =>
  exampleCooldown({ modelId, setAt: systemClock.now(), until: systemClock.now() + forMs });
const attemptOf = (modelId: number, requestId: string) =>
  exampleAttempt({ modelId, requestId, at: systemClock.now() });

describe('two processes on one server', () => {
  let opened: MigratedDatabase;
  let open: () => ReturnType<typeof openState>;
  beforeAll(async () => {
    const schema = uniqueName('headworks');
    opened = await migratedDatabase(await openDatabase(databaseUrl(), schema));
    open = () => openState(databaseUrl(), schema);
  });
  afterAll(() => opened.dispose());

  it('share cooldowns and clears within a second', async () => {
    const [one, two] = [await open(), await open()];
    const { modelId } = one;
    one.state.cooldowns.extend(cooldownOf(modelId));
    await expect
      .poll(() => two.state.cooldowns.of(modelId, 'k1'), soon)
      .toMatchObject({ cause: 'rate-limit' });
    await two.state.cooldowns.clear(modelId);
    await expect.poll(() => one.state.cooldowns.of(modelId, 'k1'), soon).toBeUndefined();
  });

  it('share models and revoked keys within a second', async () => {
    const [one, two] = [await open(), await open()];
    const { key, record } = await one.state.keys.create({ name: 'x', expiresAt: null });
    await expect.poll(() => two.state.keys.check(key), soon).toEqual({ kind: 'valid', key: record });
    await two.state.keys.revoke(record.id);
    await expect.poll(() => one.state.keys.check(key), soon).toEqual({ kind: 'revoked' });
    await one.state.models.setActive(one.modelId, false);
    await expect.poll(() => two.state.models.byId(one.modelId)?.isActive, soon).toBe(false);
    await two.state.models.setActive(one.modelId, true);
    await expect.poll(() => one.state.models.byId(one.modelId)?.isActive, soon).toBe(true);
  });

  it('keep cooldowns across a restart, and a shorter hint never shortens one', async () => {
    const first = await open();
    const { modelId } = first;
    const long = cooldownOf(modelId);
    await first.state.cooldowns.extendDurably(long);
    for (const requestId of ['a', 'b', 'c']) first.state.attempts.record(attemptOf(modelId, requestId));
    await first.close();
    const second = await open();
    expect(second.state.cooldowns.of(modelId, 'k1')).toEqual(long);
    await second.state.cooldowns.extendDurably(cooldownOf(modelId, 1_000));
    expect(second.state.scores.of(modelId).recent).toMatchObject({ requests: 3, successes: 3 });
    expect(second.state.usage.usedToday('admin').tokens).toBe(45);
    await second.close();
    const third = await open();
    expect(third.state.cooldowns.of(modelId, 'k1')).toEqual(long);
    await third.state.cooldowns.clear(modelId);
  });

  it('agree on scores after both have written and read them', async () => {
    const [one, two] = [await open(), await open()];
    const before = one.state.scores.of(one.modelId).longTerm.requests;
    one.state.attempts.record(attemptOf(one.modelId, 'of one'));
    two.state.attempts.record(attemptOf(one.modelId, 'of two'));
    await two.state.scores.reload.refresh();
    await one.state.scores.reload.refresh();
    await two.state.scores.reload.refresh();
    for (const { state } of [one, two])
      expect(state.scores.of(one.modelId).longTerm.requests).toBe(before + 2);
  });

  it('lose at most about a second of attempts when one is killed', async () => {
    const script = fileURLToPath(new URL('gateway-stores-recorder.ts', import.meta.url));
    const child = spawn(process.execPath, [script, databaseUrl(), opened.database.schema], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const recorded: { readonly id: string; readonly at: number }[] = [];
    for await (const line of createInterface(child.stdout)) {
      const [number, at] = line.split(' ');
      recorded.push({ id: `r${number}`, at: Number(at) });
      const [first] = recorded;
      if (first && Number(at) - first.at > 3_000 && !child.killed) child.kill('SIGKILL');
    }
    const stores = openGatewayStores({ database: opened.database, redis: null }, systemClock);
    const kept = new Set((await stores.attempts.list({ limit: 100_000 })).map(({ requestId }) => requestId));
    const killedAt = recorded.at(-1)?.at ?? 0;
    // Half a second to collect, plus the time to write on a loaded machine.
    const old = recorded.filter(({ at }) => at < killedAt - 2_000);
    expect(old.length).toBeGreaterThan(20);
    expect(old.filter(({ id }) => !kept.has(id)).length).toBe(0);
  });
});

it('continues without its database server and catches up afterwards', async () => {
  const server = await startPrivatePostgres();
  const schema = 'headworks';
  const migrated = await migratedDatabase(await openDatabase(server.url, schema));
  await migrated.database.close();
  const [one, two] = [await openState(server.url, schema), await openState(server.url, schema)];
  const { modelId } = one;
  const { key } = await one.state.keys.create({ name: 'x', expiresAt: null });

  await server.kill();
  one.state.cooldowns.extend(cooldownOf(modelId));
  for (let index = 0; index < 50; index += 1) one.state.attempts.record(attemptOf(modelId, `${index}`));
  await expect.poll(() => one.failures, later).toContain('attempts');
  expect(one.failures).toContain('cooldowns');
  expect(one.state.cooldowns.of(modelId, 'k1')).toBeDefined();
  expect(one.state.scores.of(modelId).recent.requests).toBe(50);
  expect(one.state.keys.check(key)?.kind).toBe('valid');
  const byHand = { ...cooldownOf(modelId), keyId: 'k2', cause: 'manual' as const };
  await expect(two.state.cooldowns.extendDurably(byHand)).rejects.toMatchObject({
    code: 'STATE_UNAVAILABLE',
  });

  await server.restart();
  for (const { state } of [one, two])
    await expect.poll(() => state.cooldowns.ofModel(modelId).length, later).toBe(2);
  const requestsSeenByOther = async () => {
    await two.state.refresh();
    return two.state.scores.of(modelId).recent.requests;
  };
  await expect.poll(requestsSeenByOther, later).toBe(50);
  expect(two.state.usage.usedToday('admin').tokens).toBe(750);
});
