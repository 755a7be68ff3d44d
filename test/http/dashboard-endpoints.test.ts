// Endpoints of the dashboard: one server with data on every page, and an empty one.
import type { ApiResponse } from '../../src/api/client.ts';
import type { Flow, OrganizationsOverview } from '../../src/api/overview.ts';
import type {
  ExtractionRun,
  RunSamples,
  VaultItem,
  VaultItems,
  VaultSummary,
} from '../../src/api/extraction.ts';
import type { ModelHistory } from '../../src/api/models.ts';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ModelView } from '../../src/gateway/index.ts';
import { buildServer } from '../../src/http/index.ts';
import { polling, startDashboardWorld, type DashboardWorld } from '../support/dashboard-world.ts';
import { asAdmin, createTestDeps } from '../support/http-dependencies.ts';
import { callAsAdmin } from '../support/test-server.ts';

describe('with data in every domain', () => {
  let world: DashboardWorld;
  beforeAll(async () => {
    world = await startDashboardWorld();
  });
  afterAll(() => world.stop());

  const status = async (path: string) => {
    const { status: code, body } = await callAsAdmin(world.server, 'GET', `/api/v1${path}`);
    return { code, message: (body as { error?: { message?: string } }).error?.message ?? '' };
  };

  it('the overview of organizations has usage, limits, rejections and hold times', async () => {
    const overview = await world.read<OrganizationsOverview>('/overview/organizations');
    expect(overview).toMatchObject({
      default_limit: 20,
      global_limit: 100,
      global_used: 2,
      queued: 0,
      organization_count: 2,
    });
    const [first, second] = overview.organizations;
    expect(first).toMatchObject({
      limit: { organization_name: 'busy', custom_limit: 2, limit: 2, usage: { organization: 2 } },
      admitted: 2,
      rejected: 3,
      average_hold_ms: null,
      longest_hold_ms: null,
    });
    expect(second).toMatchObject({
      limit: { organization_name: 'quiet', custom_limit: null, limit: 20, usage: { organization: 0 } },
      admitted: 1,
      rejected: 0,
      ended: 1,
    });
    expect(second?.average_hold_ms).toBeGreaterThan(0);
    expect(second?.longest_hold_ms).toBeGreaterThanOrEqual(second?.average_hold_ms ?? Infinity);
    const found = await world.read<OrganizationsOverview>('/overview/organizations?name=QUI');
    expect(found.organizations.map(({ limit }) => limit.organization_name)).toEqual(['quiet']);
    expect(found.organization_count).toBe(2);
    const sum = (name: 'admitted' | 'rejected') =>
      overview.minutes.reduce((total, minute) => total + minute[name], 0);
    expect([sum('admitted'), sum('rejected')]).toEqual([3, 3]);
  });

  it('the flow has every stage: cooldowns with their causes, running work, degradations', async () => {
    const flow = await world.read<Flow>('/overview/flow');
    expect(flow.extraction).toMatchObject({
      sources: 1,
      calls_per_minute_limit: 100,
      running: [],
      last_finished: { source: 'acme', state: 'incomplete', id: world.runs[1].id },
    });
    expect(flow.gateway.available).toBe(3);
    expect(flow.gateway.cooling_down.map(({ name, cause }) => [name, cause])).toEqual(
      expect.arrayContaining([
        ['limited', 'rate-limit'],
        ['barred', 'authentication'],
        ['locked', 'authentication'],
      ]),
    );
    const until = flow.gateway.cooling_down.map(({ available_at: at }) => Date.parse(at ?? ''));
    expect(until).toEqual(until.toSorted((a, b) => a - b));
    expect(flow.admission).toEqual({ global_used: 2, global_limit: 100, organizations: 2, queued: 0 });
    expect(flow.gateway).toMatchObject({ in_flight: 2, queued: 0, requests_per_minute_limit: null });
    expect(flow.executions).toEqual({ queued: 0, running: 2 });
    expect(flow.degraded).toEqual([{ kind: 'gateway.key-rejected', open: 2 }]);
    expect(flow.degraded_count).toBe(2);
    expect(flow.dependencies).toContainEqual(expect.objectContaining({ name: 'state store', state: 'up' }));
    const sum = (name: 'model_calls' | 'model_failures') =>
      flow.minutes.reduce((total, minute) => total + minute[name], 0);
    expect(sum('model_calls')).toBeGreaterThanOrEqual(6);
    expect(sum('model_failures')).toBe(3);
  });

  describe('the vault of a run', () => {
    const path = () => `/extraction/runs/${world.runs[1].id}/vault`;

    it('lists counts by type, and failed pages', async () => {
      const { types, dead_letters: letters } = await world.read<VaultSummary>(path());
      expect(types).toMatchObject([
        { type: 'dashboards', live: 5, deleted: 0, state: 'completed', reason: null },
        { type: 'looks', live: 3, reason: expect.stringContaining('failed') as string },
        { type: 'users', live: 59, deleted: 1 },
      ]);
      expect(types.find(({ type }) => type === 'looks')?.state).toBe('incomplete');
      // Three sessions missed it; it is one page.
      expect(letters).toMatchObject([{ type: 'looks', cause: 'server-error', session: 3 }]);
      expect(letters[0]?.message).toContain('500');
    });

    it('lists items page by page, deleted ones included, each once', async () => {
      const found: VaultItems['items'] = [];
      let after = '';
      for (let pages = 0; pages < 5; pages += 1) {
        const query = new URLSearchParams({ type: 'users', limit: '25', after });
        const { items, next } = await world.read<VaultItems>(`${path()}/items?${query.toString()}`);
        found.push(...items);
        if (next === null) break;
        expect(items).toHaveLength(25);
        after = next;
      }
      expect(new Set(found.map(({ id }) => id)).size).toBe(60);
      expect(found).toHaveLength(60);
      const [changed, gone] = ['1', '3'].map((id) => found.find((item) => item.id === id));
      expect(changed).toMatchObject({ versions: 2, deleted_at: null });
      expect(gone).toMatchObject({ versions: 2, deleted_at: expect.any(String) as string });
      expect(found.filter(({ versions }) => versions === 1)).toHaveLength(58);
    });

    it('returns an item in each version, and when it was deleted', async () => {
      const { item, versions } = await world.read<VaultItem>(`${path()}/item?type=users&item=1`);
      expect(item).toMatchObject({ id: '1', type: 'users', versions: 2 });
      expect(versions).toMatchObject([
        { number: 1, session: 1, is_deleted: false },
        { number: 2, session: 3, is_deleted: false },
      ]);
      const data = async (query: string) =>
        (
          await world.read<ApiResponse<'GET /api/v1/extraction/runs/:id/vault/data'>>(
            `${path()}/data?type=users&${query}`,
          )
        ).json;
      const [older, newer] = [await data('item=1&version=1'), await data('item=1&version=2')];
      expect(older).not.toBe(newer);
      expect(JSON.parse(older ?? '')).toMatchObject({ id: '1' });
      expect(older).toContain('\n  "');
      expect(await data('item=1')).toBe(newer);
      expect(await data('item=3&version=2')).toBeNull();
      expect(await data('item=3&version=1')).toContain('"id": "3"');
    });

    it('returns 404 with a message for unknown runs, items and versions', async () => {
      expect(await status(`${path()}/items?type=boards`)).toMatchObject({ code: 404 });
      expect(await status(`${path()}/item?type=users&item=999`)).toMatchObject({ code: 404 });
      expect(await status(`${path()}/data?type=users&item=1&version=9`)).toMatchObject({ code: 404 });
      expect(await status(`${path()}/items?type=users&limit=201`)).toMatchObject({ code: 400 });
    });

    it('is only read from the folder of vaults, whatever path a reported run has', async () => {
      const own = join(world.folder, '.headworks', 'vaults', 'acme.vault');
      const made = async (vault: string) => {
        const id = crypto.randomUUID();
        const figures = { types: [], calls: 0, rate_limited_calls: 0, multiplier: 1, items_per_second: null };
        const run = { id, source: 'made up', vault, session: null, state: 'completed', message: null };
        await world.send<ExtractionRun>('POST', '/extraction/runs/report', { ...run, ...figures });
        return status(`/extraction/runs/${id}/vault`);
      };
      await writeFile(join(world.folder, 'plain.txt'), 'secret');
      await symlink(own, join(world.folder, 'outside.vault'));
      const outside = [
        own,
        join(world.folder, 'outside.vault'),
        '/etc/passwd',
        '../plain.txt',
        '../vaults/acme.vault',
      ];
      for (const vault of outside) {
        const { code, message } = await made(vault);
        expect([vault, code]).toEqual([vault, 404]);
        expect(message).toContain('outside the data folder');
        expect(message).toContain(`headworks vault list --vault ${vault}`);
      }
      for (const vault of ['..', '.', 'never.vault'])
        expect(await made(vault)).toMatchObject({
          code: 404,
          message: expect.stringContaining('is not on') as string,
        });
      // A filter by source also returns runs of the command line.
      expect(await made('acme.vault')).toMatchObject({ code: 200 });
    });
  });

  it('the history of a model counts the attempts of its score, by interval', async () => {
    const { id } = await world.model('swift');
    const {
      until,
      since,
      interval_ms: stretchMs,
      intervals,
    } = await world.read<ModelHistory>(`/models/${id}/history?hours=1`);
    expect(Date.parse(until) - Date.parse(since)).toBeGreaterThanOrEqual(3_600_000);
    expect(stretchMs).toBe(60_000);
    const requests = intervals.reduce((sum, interval) => sum + interval.requests, 0);
    expect(requests).toBe((await world.model('swift')).request_count);
    expect(intervals.every(({ requests: total, successes }) => total === successes)).toBe(true);
    expect(intervals.every(({ average_seconds: average }) => average >= 0 && average < 20)).toBe(true);
    const { id: never } = await world.model('limited');
    expect(await world.read(`/models/${never}/history`)).toMatchObject({ intervals: [] });
    expect(await status('/models/999999/history')).toMatchObject({ code: 404 });
    expect(await status(`/models/${id}/history?hours=0`)).toMatchObject({ code: 400 });
  });

  // Last: it leaves an incomplete session behind.
  it('a running extraction is shown with its calls, its limit and its samples', async () => {
    world.looker.configure({ latencyMs: 400 });
    const id = await world.startRun();
    await vi.waitFor(async () => {
      const { samples } = await world.read<RunSamples>(`/extraction/runs/${id}/samples`);
      expect(samples.length).toBeGreaterThanOrEqual(2);
      expect(samples.at(-1)?.calls).toBeGreaterThan(samples[0]?.calls ?? Infinity);
    }, polling);
    // The stored run is updated less often than the samples.
    await vi.waitFor(async () => {
      const { extraction } = await world.read<Flow>('/overview/flow');
      expect(extraction.running).toMatchObject([
        { id, source: 'acme', state: 'running', calls_per_minute_limit: 100, multiplier: 1 },
      ]);
      expect(extraction.running[0]?.calls_last_minute).toBeGreaterThan(0);
    }, polling);
    await world.send('POST', `/extraction/runs/${id}/stop`);
    world.looker.configure({ latencyMs: 0 });
    await world.runEnded(id);
    const unknown = '01900000-0000-7000-8000-000000000000';
    expect(await world.read(`/extraction/runs/${unknown}/samples`)).toEqual({ samples: [] });
  });
});

describe('without any data', () => {
  it('both overviews are empty', async () => {
    const server = await buildServer(createTestDeps().dependencies);
    const read = async (path: string) =>
      (await server.inject({ url: path, headers: asAdmin })).json<unknown>();
    expect(await read('/api/v1/overview/organizations')).toMatchObject({
      organization_count: 0,
      organizations: [],
      global_used: null,
    });
    expect(await read('/api/v1/overview/flow')).toMatchObject({
      extraction: { sources: 0, running: [], last_finished: null },
      gateway: { available: 0, cooling_down: [], without_key: 0 },
      executions: { queued: 0, running: 0 },
      degraded: [],
      degraded_count: 0,
      last_minute: { admitted: 0, rejected: 0, model_calls: 0, documents_read: 0 },
    });
  });

  it('the limit of the gateway is the sum of the quotas of its models and keys, and null when one has none', async () => {
    const { dependencies } = createTestDeps();
    const model = (requestsPerMinute: number | undefined, keyCount: number, isConfigured = true) => ({
      quotas: requestsPerMinute === undefined ? {} : { requestsPerMinute },
      keyCount,
      isConfigured,
      availableAt: null,
    });
    const limitOf = async (...all: ReturnType<typeof model>[]) => {
      const models = { ...dependencies.gateway.models, list: async () => all as unknown as ModelView[] };
      const server = await buildServer({ ...dependencies, gateway: { ...dependencies.gateway, models } });
      const answer = await server.inject({ url: '/api/v1/overview/flow', headers: asAdmin });
      return answer.json<Flow>().gateway.requests_per_minute_limit;
    };
    expect(await limitOf(model(30, 2), model(10, 1), model(99, 1, false))).toBe(70);
    expect(await limitOf(model(10, 0))).toBe(10);
    expect(await limitOf(model(30, 2), model(undefined, 1))).toBeNull();
  });
});
