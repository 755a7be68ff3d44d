// Complete servers in separate processes, to be killed during an execution.
import { expect, onTestFinished } from 'vitest';
import type { ModelsSimulator } from '../../../src/simulators/models/simulator.ts';
import type { HeadworksProcess } from '../headworks-process.ts';
import { startHeadworks } from '../headworks-process.ts';
import type { TenantResponse } from './tenant-api-world.ts';
import type { AdminAccess, Tenant } from './tenant-server.ts';
import {
  addModels,
  addTenant,
  callDeployment,
  drainAtOnce,
  modelKeys,
  simulatedModels,
} from './tenant-server.ts';

const adminToken = 'an-admin-token-for-killed-servers';
export const slowly = { timeout: 90_000, interval: 100 };
/** Much shorter than the detection of an ended process: slots that are not renewed would be lost. */
export const killedEnv = {
  ...drainAtOnce,
  ...modelKeys,
  HEADWORKS_ADMIN_TOKEN: adminToken,
  HEADWORKS_LOG_LEVEL: 'error',
  HEADWORKS_ADMISSION_LEASE_SECONDS: '6',
};

export async function serveToBeKilled(
  folder: string,
  more: Readonly<Record<string, string>>,
): Promise<AdminAccess & { readonly process: HeadworksProcess }> {
  const process = startHeadworks(['serve', '--port', '0', '--json'], folder, { ...killedEnv, ...more });
  const [, url = ''] = await process.printed(/"state":"ready".*?"url":"([^"]+)"/);
  return { process, url, adminToken };
}

/** Its first call hangs, all others return. */
export async function hangingModel(): Promise<ModelsSimulator> {
  const simulator = await simulatedModels();
  onTestFinished(() => simulator.stop());
  simulator.script('quick', [{ fault: 'hang' }]);
  return simulator;
}

/** An execution that waits for a model. */
export async function runningExecution(
  server: AdminAccess,
  simulator: ModelsSimulator,
): Promise<{ readonly acme: Tenant; readonly id: string }> {
  await addModels(server, simulator);
  const acme = await addTenant(server, 'quick');
  const { body } = await callDeployment(server, acme);
  await expect.poll(() => simulator.stats().models['quick']?.calls, slowly).toBe(1);
  return { acme, id: body.execution_id };
}

export const stateOf = async (
  server: AdminAccess,
  acme: Tenant,
  id: string,
): Promise<TenantResponse['body']> =>
  (await callDeployment(server, acme, { method: 'GET', query: `?execution_id=${id}` })).body;
