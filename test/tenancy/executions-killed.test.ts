// kill -9 of a server during an execution: the execution completes, and its slot stays counted.
import { expect, it } from 'vitest';
import {
  runningExecution,
  hangingModel,
  slowly,
  serveToBeKilled,
  stateOf,
} from '../support/tenancy/killed-server.ts';
import { temporaryFolder } from '../support/services.ts';
import { usageOf } from '../support/tenancy/tenant-server.ts';

it('continues at once with the next start on the embedded store', async () => {
  const folder = await temporaryFolder();
  const simulator = await hangingModel();
  const first = await serveToBeKilled(folder, {});
  const { acme, id } = await runningExecution(first, simulator);
  expect(await usageOf(first, acme)).toEqual([1, 1]);
  first.process.child.kill('SIGKILL');
  await first.process.ended;
  const second = await serveToBeKilled(folder, {});
  await expect
    .poll(() => stateOf(second, acme, id), slowly)
    .toMatchObject({
      status: 'completed',
      result: { text: 'Yes.' },
    });
  await expect.poll(() => usageOf(second, acme), slowly).toEqual([0, 0]);
  expect(simulator.stats().models['quick']?.calls).toBe(2);
  second.process.child.kill('SIGTERM');
  await second.process.ended;
});
