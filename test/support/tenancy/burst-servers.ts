// Bursts of requests over several server processes on one Postgres and one Redis.
import { spawn } from 'node:child_process';
import { expect, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/core/index.ts';
import { temporaryFolder } from '../services.ts';
import { callAsAdmin } from '../test-server.ts';
import { serveToBeKilled, slowly } from './killed-server.ts';
import type { AdminAccess, Tenant } from './tenant-server.ts';
import {
  addModels,
  addTenant,
  callDeployment,
  simulatedModels,
  storeKinds,
  usageOf,
} from './tenant-server.ts';

/** Together more than the global limit of 100. */
const limits = [50, 40, 20, 5];
export const globalLimit = 100;

interface LimitedTenant extends Tenant {
  readonly limit: number;
}

type Server = Awaited<ReturnType<typeof serveToBeKilled>>;

export interface BurstResult {
  /** By tenant, in their order. */
  readonly admitted: readonly number[];
  /** Requests without a decision (503), which were repeated until they had one. */
  readonly undecided: number;
}

export class BurstServers {
  readonly #stores: Readonly<Record<string, string>> = {
    ...storeKinds[1]?.[1](),
    HEADWORKS_ADMISSION_LEASE_SECONDS: '60',
    // An execution whose model timed out would leave its slot to another request of the same burst.
    HEADWORKS_GATEWAY_RESPONSE_TIMEOUT_SECONDS: '600',
    REQUEST_TIMEOUT_SECONDS: '3600',
  };
  #tenants: readonly LimitedTenant[] = [];
  #servers: readonly Server[] = [];

  /** Further processes, with nothing in memory: a burst that follows at once is their first. */
  async start(count: number): Promise<void> {
    const folders = await Promise.all(Array.from({ length: count }, () => temporaryFolder()));
    const started = await Promise.all(folders.map((folder) => serveToBeKilled(folder, this.#stores)));
    this.#servers = [...this.#servers, ...started];
  }

  async stop(): Promise<void> {
    for (const { process } of this.#servers) process.child.kill('SIGTERM');
    await Promise.all(this.#servers.map(({ process }) => process.ended));
    this.#servers = [];
  }

  /** Organizations with limits, whose executions last until they are canceled; known to every server. */
  async addTenants(): Promise<void> {
    const [first] = this.#servers;
    if (!first) throw new Error('No server was started.');
    const simulator = await simulatedModels();
    onTestFinished(() => simulator.stop());
    await addModels(first, simulator);
    const tenants: LimitedTenant[] = [];
    for (const limit of limits) {
      const tenant = await addTenant(first, 'never');
      const path = `/api/v1/limits/${tenant.organizationId}`;
      expect(await callAsAdmin(first, 'PUT', path, { limit })).toMatchObject({ status: 200 });
      tenants.push({ ...tenant, limit });
    }
    this.#tenants = tenants;
    for (const server of this.#servers)
      for (const tenant of tenants)
        await expect
          .poll(async () => (await callDeployment(server, tenant, { method: 'GET' })).status, slowly)
          .toBe(400);
  }

  /**
   * `count` requests at once, in turn to every server and tenant. Admitted executions are canceled in the end. Fails when
   * a limit was exceeded, or is not used exactly.
   */
  async burst(count: number): Promise<BurstResult> {
    const tenants = this.#tenants;
    const ids = tenants.map((): string[] => []);
    let undecided = 0;
    let pending = Array.from({ length: count }, (_, index) => index);
    while (pending.length > 0) {
      const responses = await Promise.all(
        pending.map(async (index) => ({ index, ...(await this.#call(index)) })),
      );
      for (const { index, status, body } of responses)
        if (status === 200) ids[index % tenants.length]?.push(body.execution_id);
      expect(new Set(responses.map(({ status }) => status)).difference(decided)).toEqual(new Set());
      pending = responses.filter(({ status }) => status === 503).map(({ index }) => index);
      undecided += pending.length;
      if (pending.length > 0) await systemClock.sleep(2_000);
    }
    // Also those whose response was 503, because Postgres took too long to confirm what it had committed (N6).
    const running = await Promise.all(tenants.map((tenant) => this.#running(tenant)));
    const admitted = running.map(({ length }) => length);
    for (const [index, { limit }] of tenants.entries())
      expect(admitted[index], `admitted ${admitted.join(', ')}`).toBeLessThanOrEqual(limit);
    expect(running.flat()).toHaveLength(globalLimit);
    expect(new Set(ids.flat()).difference(new Set(running.flat()))).toEqual(new Set());
    await this.#cancel(running);
    return { admitted, undecided };
  }

  /** The executions that hold a slot. */
  async #running({ organizationId }: Tenant): Promise<readonly string[]> {
    const server = this.#servers[0] as AdminAccess;
    const path = `/api/v1/executions?organization=${organizationId}&state=queued,running&limit=500`;
    const { body } = await callAsAdmin(server, 'GET', path);
    return (body as { executions: readonly { id: string }[] }).executions.map(({ id }) => id);
  }

  async #call(index: number) {
    const servers = this.#servers;
    const tenants = this.#tenants;
    const server = servers[Math.floor(index / tenants.length) % servers.length];
    const tenant = tenants[index % tenants.length];
    if (!server || !tenant) throw new Error('No server was started, or no tenant was added.');
    return callDeployment(server, tenant).catch((error: unknown) => {
      // Of fetch: ten seconds, which processes on a busy machine may need to accept hundreds of connections.
      if ((error as { cause?: { code?: string } }).cause?.code !== 'UND_ERR_CONNECT_TIMEOUT') throw error;
      return { status: 503, body: { execution_id: '' } };
    });
  }

  async #cancel(ids: readonly (readonly string[])[]): Promise<void> {
    const server = this.#servers[0] as AdminAccess;
    for (const [index, tenant] of this.#tenants.entries())
      await Promise.all(
        (ids[index] ?? []).map((id) =>
          callDeployment(server, tenant, { method: 'DELETE', query: `?execution_id=${id}` }),
        ),
      );
    const [tenant] = this.#tenants;
    if (tenant) await expect.poll(() => usageOf(server, tenant), slowly).toEqual([0, 0]);
  }
}

const decided: ReadonlySet<number> = new Set([200, 429, 503]);

/** Processes that use all of a core until the test is over. */
export function burnCpu(count: number): void {
  for (let index = 0; index < count; index++) {
    const child = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
    onTestFinished(() => void child.kill('SIGKILL'));
  }
}
