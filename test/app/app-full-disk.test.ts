// A disk that fills up while the server runs on the embedded store.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { copyEmbeddedStore } from '../support/embedded-template.ts';
import { smallDisk } from '../support/small-disk.ts';
import { callAsAdmin, startTestServer, testConfig } from '../support/test-server.ts';

it('returns 503 with the cause while the disk is full, is not ready, and records it (N6, T3)', async ({
  skip,
}) => {
  const disk = await smallDisk(120);
  if (!disk) {
    skip('only root can mount a small disk');
    return;
  }
  await copyEmbeddedStore(join(disk.folder, '.headworks', 'state'));
  const server = await startTestServer(await testConfig({ DATABASE_URL: '' }, disk.folder));
  const ready = () => callAsAdmin(server, 'GET', '/readyz');
  const ingest = async (number: number) =>
    callAsAdmin(server, 'POST', '/api/v1/knowledge/artifacts', {
      text: `Number ${number}. ${'Nothing else happened that day. '.repeat(3_000)}`,
    });
  expect((await ready()).status).toBe(200);

  disk.fill();
  let rejected = await ingest(0);
  for (let number = 1; rejected.status === 202 || rejected.status === 201; number++)
    rejected = await ingest(number);
  expect(rejected).toMatchObject({
    status: 503,
    body: {
      error: { code: 'STATE_UNAVAILABLE', message: expect.stringContaining('no disk space left') as string },
    },
  });
  expect(rejected.headers.get('retry-after')).not.toBeNull();
  expect(await ready()).toMatchObject({
    status: 503,
    body: {
      status: 'unavailable',
      dependencies: [
        {
          name: 'state store',
          state: 'down',
          detail: expect.stringContaining('no disk space left') as string,
          remedy: expect.stringContaining('Free some space') as string,
        },
        {},
      ],
    },
  });

  disk.free();
  await expect.poll(async () => (await ready()).status).toBe(200);
  expect((await ingest(-1)).status).toBeLessThan(300);
  const ledger = () => callAsAdmin(server, 'GET', '/api/v1/ledger?state=all&kind=state-store.cannot-write');
  await expect
    .poll(async () => (await ledger()).body)
    .toMatchObject({ entries: [{ subject: 'disk', cause: 'DISK_FULL' }] });
});
