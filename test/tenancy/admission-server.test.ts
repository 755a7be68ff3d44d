// Admission as a server opens it: the lock of a server without Redis, and metrics of every shipped alert.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { withPostgres } from '../../scripts/services/ping.ts';
import type { ServerRole } from '../../src/app/index.ts';
import { openStores } from '../../src/app/compose.ts';
import { createTelemetry } from '../../src/app/telemetry.ts';
import type { Config } from '../../src/config/index.ts';
import { kindOf, systemClock, systemIds } from '../../src/core/index.ts';
import { sql } from '../../src/platform/postgres/index.ts';
import { checkNotifyRoundTrip } from '../../src/platform/postgres/change-feed.ts';
import { acquireSessionLock } from '../../src/platform/postgres/server/session-lock.ts';
import { openServerAdmission } from '../../src/tenancy/open-tenancy.ts';
import { databaseUrl, redisUrl, uniqueName } from '../support/services.ts';
import { FakeExecutions } from '../support/tenancy/admission-world.ts';
import { testConfig } from '../support/test-server.ts';
import { withoutNotifications } from './admission-pooler.ts';

async function openServer(config: Config, role: ServerRole = 'serve') {
  const closing = new AsyncDisposableStack();
  const close = async () => closing.disposeAsync();
  onTestFinished(close);
  const telemetry = createTelemetry(config, role);
  const stores = await openStores(config, telemetry, closing);
  const executions = Object.assign(new FakeExecutions(), { onEnded: async () => async () => undefined });
  const admission = await openServerAdmission({
    database: stores.database,
    redis: stores.redis,
    clock: systemClock,
    ids: systemIds,
    events: telemetry.events,
    ledger: { record: async () => undefined },
    role,
    executions,
    options: config,
    endOverdue: async () => undefined,
    onOutageEnded: () => undefined,
  });
  closing.defer(() => admission.close());
  for (const gauge of admission.gauges) telemetry.metrics.gauge(gauge);
  return { admission, telemetry, stores, close };
}

/** Ends the connection that holds this lock. */
const cut = (name: string) =>
  withPostgres(databaseUrl(), (client) =>
    client.query(
      `select pg_terminate_backend(pid, 5000) from pg_locks where locktype = 'advisory'
       and ((classid::bigint << 32) | objid::bigint) = hashtextextended($1, 0)`,
      [name],
    ),
  );

const { signal } = new AbortController();
const request = (executionId: string) => ({ organizationId: 'org_x', executionId, waitMs: 0, signal });

describe('without Redis', () => {
  it('a second server on the same database is rejected at once, and may start when the first has stopped (L6)', async () => {
    const config = await testConfig();
    const first = await openServer(config);
    const rejected = openServer(config);
    await expect(rejected).rejects.toMatchObject({
      code: 'ADMISSION_NEEDS_REDIS',
      message: expect.stringContaining('Set REDIS_URL') as string,
    });
    await openServer(await testConfig());
    await first.close();
    const second = await openServer(config);
    await second.admission.controller.acquire(request('1'));
    expect(second.admission.canRunExecutions).toBe(true);
  });

  it('a command beside it works, but admits no requests', async () => {
    const config = await testConfig();
    await openServer(config);
    const command = await openServer(config, 'command');
    expect(command.admission.canRunExecutions).toBe(false);
    await expect(command.admission.controller.acquire(request('1'))).rejects.toMatchObject({
      code: 'ADMISSION_NEEDS_REDIS',
    });
  });

  it('a limit changed by a command applies at once in the server', async () => {
    const config = await testConfig();
    const server = await openServer(config);
    await server.stores.database.query(sql`
      insert into organizations (id, name, name_key, created_at) values ('org_x', 'x', 'x', now())`);
    await server.admission.controller.acquire(request('1'));
    const command = await openServer(config, 'command');
    const { view } = await command.admission.limits.set('org_x', 1);
    // It has no access to the server's counts, and reports none.
    expect(view).toMatchObject({ limit: 1, usage: { countedBy: 'executions' }, isCacheKnown: false });
    await expect(command.admission.limits.clearCache('all')).rejects.toMatchObject({
      code: 'ADMISSION_NEEDS_REDIS',
      message: expect.stringContaining('Set REDIS_URL to the Redis of the servers') as string,
    });
    await expect.poll(async () => (await server.admission.limits.get('org_x')).cachedLimit).toBeNull();
    await expect(server.admission.controller.acquire(request('2'))).rejects.toMatchObject({
      code: 'ADMISSION_ORG_LIMIT',
      usage: { organizationLimit: 1 },
    });
  });
});

describe('behind a pooler in transaction mode', () => {
  it('a server without Redis does not start: its lock would have no effect', async () => {
    const proxy = await withoutNotifications(databaseUrl());
    await expect(openServer(await testConfig({ DATABASE_URL: proxy }))).rejects.toMatchObject({
      code: 'ADMISSION_NEEDS_REDIS',
      message: expect.stringContaining('session mode') as string,
    });
    const prefix = `${uniqueName('adm')}:`;
    const redis = { REDIS_URL: redisUrl(), HEADWORKS_REDIS_KEY_PREFIX: prefix };
    const { stores } = await openServer(await testConfig({ DATABASE_URL: proxy, ...redis }));
    expect(await checkNotifyRoundTrip(stores.database)).toBe(false);
  });

  it('is distinguished from a database that delivers notifications', async () => {
    const { stores } = await openServer(await testConfig());
    expect(await checkNotifyRoundTrip(stores.database)).toBe(true);
  });
});

describe('with Redis', () => {
  it('any number of servers share one database', async () => {
    const schema = { HEADWORKS_DATABASE_SCHEMA: uniqueName('app') };
    const prefix = { REDIS_URL: redisUrl(), HEADWORKS_REDIS_KEY_PREFIX: `${uniqueName('adm')}:` };
    const one = await openServer(await testConfig({ ...schema, ...prefix }));
    const two = await openServer(await testConfig({ ...schema, ...prefix }));
    await one.admission.controller.acquire(request('1'));
    await two.admission.controller.acquire(request('2'));
    const worker = await openServer(await testConfig({ ...schema, ...prefix }), 'worker');
    expect(worker.admission.canRunExecutions).toBe(true);
    await one.admission.controller.release({ organizationId: 'org_x', executionId: '1' });
    await two.admission.controller.release({ organizationId: 'org_x', executionId: '2' });
    // Workers accept no requests. A server that stops is no longer awaited after a flush.
    const servers = async () =>
      (await one.stores.database.query(sql`select from admission_servers`)).rows.length;
    expect(await servers()).toBe(2);
    await two.close();
    expect(await servers()).toBe(1);
  });
});

describe('servers with Redis and one without', () => {
  const both = async () => {
    const schema = { HEADWORKS_DATABASE_SCHEMA: uniqueName('app') };
    const prefix = { HEADWORKS_REDIS_KEY_PREFIX: `${uniqueName('adm')}:` };
    return {
      with: await testConfig({ ...schema, ...prefix, REDIS_URL: redisUrl() }),
      without: await testConfig(schema),
      lock: `headworks.admission.${schema.HEADWORKS_DATABASE_SCHEMA}`,
    };
  };
  const needsRedis = {
    code: 'ADMISSION_NEEDS_REDIS',
    message: expect.stringContaining('Set REDIS_URL') as string,
  };

  it('do not start beside each other on one database, in either order', async () => {
    const config = await both();
    const servers = [await openServer(config.with), await openServer(config.with)];
    await expect(openServer(config.without)).rejects.toMatchObject(needsRedis);
    for (const server of servers) await server.close();
    const alone = await openServer(config.without);
    await expect(openServer(config.with)).rejects.toMatchObject(needsRedis);
    await alone.close();
    await openServer(config.with);
  });

  it('neither block commands and workers, nor are blocked by them', async () => {
    const config = await both();
    for (const role of ['command', 'worker'] as const)
      for (const each of [config.with, config.without]) await openServer(each, role);
    const alone = await openServer(config.without);
    for (const each of [config.with, config.without]) await openServer(each, 'command');
    await alone.admission.controller.acquire(request('1'));
    await alone.close();
    const server = await openServer(config.with);
    for (const each of [config.with, config.without]) await openServer(each, 'command');
    await server.admission.controller.acquire(request('2'));
  });

  it('stop admitting requests when their lock was lost and taken by the other', async () => {
    const config = await both();
    const server = await openServer(config.with);
    const take = async () => {
      await cut(config.lock);
      return acquireSessionLock({
        url: databaseUrl(),
        name: config.lock,
        mode: 'exclusive',
        clock: systemClock,
      });
    };
    let alone = await take();
    await expect.poll(async () => (alone ??= await take())).not.toBeNull();
    await expect
      .poll(() => server.admission.controller.acquire(request('1')).catch(kindOf))
      .toBe('ADMISSION_NEEDS_REDIS');
    await alone?.close();
    await expect.poll(() => server.admission.controller.acquire(request('1')).catch(kindOf)).toBeUndefined();
  });
});

describe('the lock of one server', () => {
  it('is released at once when its process is killed', async () => {
    const name = uniqueName('lock');
    const script = fileURLToPath(new URL('./admission-lock-holder.ts', import.meta.url));
    const holder = spawn(process.execPath, [script, databaseUrl(), name], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void holder.kill('SIGKILL'));
    await once(holder.stdout, 'data');
    const take = () =>
      acquireSessionLock({ url: databaseUrl(), name, mode: 'exclusive', clock: systemClock });
    expect(await take()).toBeNull();
    holder.kill('SIGKILL');
    let lock = await take();
    await expect.poll(async () => (lock ??= await take())).not.toBeNull();
    await lock?.close();
  });

  it('is acquired again after its connection was cut, unless another process was faster', async () => {
    const name = uniqueName('lock');
    const states: string[] = [];
    const options = { url: databaseUrl(), name, mode: 'exclusive', clock: systemClock } as const;
    const lock = await acquireSessionLock({ ...options, onChange: (state) => states.push(state) });
    onTestFinished(() => lock?.close());
    await cut(name);
    await expect.poll(() => states).toEqual(['lost', 'held']);
    await cut(name);
    const other = await acquireSessionLock(options);
    await expect.poll(() => states).toEqual(['lost', 'held', 'lost', 'taken']);
    await other?.close();
    await expect.poll(() => lock?.state).toBe('held');
  });
});

describe('monitoring/headworks-alerts.yml', async () => {
  const file = new URL('../../monitoring/headworks-alerts.yml', import.meta.url);
  const { groups } = parse(await readFile(file, 'utf8')) as {
    groups: {
      name: string;
      rules: { alert: string; expr: string; for?: string; labels: { severity: string } }[];
    }[];
  };
  const rules = groups.find(({ name }) => name === 'headworks-admission')?.rules ?? [];

  it('has the rules of the founding document', () => {
    expect(
      rules.map((rule) => ({
        name: rule.alert,
        severity: rule.labels.severity,
        forMs: rule.for === undefined ? 0 : Number.parseInt(rule.for, 10) * 60_000,
      })),
    ).toEqual([
      { name: 'HeadworksAdmissionGlobalUsageHigh', severity: 'critical', forMs: 300_000 },
      { name: 'HeadworksAdmissionOrganizationUsageHigh', severity: 'warning', forMs: 300_000 },
      { name: 'HeadworksAdmissionRejectionBurst', severity: 'warning', forMs: 0 },
      { name: 'HeadworksAdmissionRedisDown', severity: 'critical', forMs: 0 },
    ]);
  });

  it('names only existing metrics', async () => {
    const { telemetry, admission } = await openServer(await testConfig());
    await admission.controller.acquire(request('1'));
    const text = await telemetry.metrics.text();
    const named = rules.flatMap(({ expr }) => expr.match(/headworks_\w+/g) ?? []);
    expect(named.length).toBeGreaterThan(4);
    for (const name of named) expect(text).toMatch(new RegExp(`^# TYPE ${name} `, 'm'));
    expect(text).toContain('headworks_admission_usage{organization="org_x"} 1');
    expect(text).toContain('headworks_admission_limit{organization="org_x"} 20');
    expect(text).toContain('headworks_admission_global_usage 1');
    expect(text).toContain('headworks_admission_admissions_total{decider="store"} 1');
    expect(text).toContain('headworks_admission_store_up 1');
    // Those with labels are there before the first event, so that its increase is seen.
    for (const series of [
      'admissions_total{decider="local"}',
      'rejections_total{reason="organization"}',
      'rejections_total{reason="global"}',
      'undecided_total{cause="STATE_UNAVAILABLE"}',
      'undecided_total{cause="ADMISSION_UNAVAILABLE"}',
    ])
      expect(text).toContain(`headworks_admission_${series} 0\n`);
  });
});
