// A server process on the embedded store that reaches its limit of open files.
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { folderWithStore } from '../support/embedded-database.ts';
import { startHeadworks } from '../support/headworks-process.ts';

interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

/** All on one connection: the process cannot accept another. */
function connectionTo(url: string, token: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return (method: string, path: string, body?: object) =>
    new Promise<Reply>((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const call = request(`${url}${path}`, { method, agent, headers }, (response) => {
        const { statusCode: status = 0, headers: received } = response;
        json(response).then((parsed) => resolve({ status, headers: received, body: parsed }), reject);
      });
      call.on('error', reject).end(body && JSON.stringify(body));
    });
}

const prlimit = (...args: string[]): string => execFileSync('prlimit', args, { encoding: 'utf8' }).trim();

it('returns 503 with the cause while no more files can be opened, is not ready, and records it (N6, T3)', async ({
  skip,
}) => {
  if (process.platform !== 'linux') skip('prlimit is a command of Linux');
  const folder = await folderWithStore();
  const server = startHeadworks(['serve', '--port', '0', '--json'], folder);
  const [, url = ''] = await server.printed(/"state":"ready".*"url":"([^"]+)"/);
  const token = (await readFile(join(folder, '.headworks', 'admin-token'), 'utf8')).trim();
  const call = connectionTo(url, token);
  const ready = () => call('GET', '/readyz');
  const ingest = (number: number) =>
    call('POST', '/api/v1/knowledge/artifacts', {
      text: `Number ${number}. Ann Lee moved the launch to May.`,
    });
  expect((await ready()).status).toBe(200);

  const target = ['--pid', String(server.child.pid)];
  const usual = prlimit(...target, '--nofile', '--output', 'SOFT', '--noheadings');
  prlimit(...target, '--nofile=3:');
  let rejected = await ingest(0);
  for (let number = 1; number < 50 && rejected.status < 300; number++) rejected = await ingest(number);
  expect(rejected).toMatchObject({
    status: 503,
    headers: { 'retry-after': expect.any(String) as string },
    body: {
      error: {
        code: 'STATE_UNAVAILABLE',
        message: expect.stringContaining('cannot open more files') as string,
      },
    },
  });
  expect(await ready()).toMatchObject({
    status: 503,
    body: {
      status: 'unavailable',
      dependencies: [
        {
          name: 'state store',
          state: 'down',
          detail: expect.stringContaining('cannot open more files') as string,
          remedy: expect.stringContaining('Raise the limit of open files') as string,
        },
        {},
      ],
    },
  });

  prlimit(...target, `--nofile=${usual}:`);
  await expect.poll(async () => (await ready()).status).toBe(200);
  expect((await ingest(-1)).status).toBeLessThan(300);
  await expect
    .poll(async () => (await call('GET', '/api/v1/ledger?state=all&kind=state-store.cannot-write')).body)
    .toMatchObject({ entries: [{ subject: 'files', cause: 'TOO_MANY_OPEN_FILES' }] });
  expect(server.child.exitCode).toBeNull();
});
