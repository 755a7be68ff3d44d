// A server that is killed during an extraction of a registered source, and restarted.
import type { ApiResponse } from '../../src/api/client.ts';
import type { ExtractionRun } from '../../src/api/extraction.ts';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { seededRandom } from '../../src/core/index.ts';
import { folderWithStore } from '../support/embedded-database.ts';
import {
  contentIn,
  contentOf,
  environmentFor,
  simulatedLooker,
  vaultRows,
} from '../support/extraction-runs.ts';
import { startHeadworks } from '../support/headworks-process.ts';

const deaths = 2;

async function serve(folder: string, env: Readonly<Record<string, string>>) {
  const server = startHeadworks(['serve', '--port', '0', '--json'], folder, env);
  const [, url = ''] = await server.printed(/"state":"ready".*"url":"([^"]+)"/);
  const token = (await readFile(join(folder, '.headworks', 'admin-token'), 'utf8')).trim();
  const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const answer = await fetch(`${url}/api/v1/extraction${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    expect(answer.ok, `${method} ${path}: ${answer.status}`).toBe(true);
    return (await answer.json()) as T;
  };
  return { ...server, call };
}

/** Sessions, and versions of items, of which there must be one each. */
function countsIn(file: string): Record<string, unknown> {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return {
      ...db
        .prepare(
          `SELECT (SELECT count(*) FROM extraction_sessions) AS sessions,
                  (SELECT count(*) FROM content_versions) AS versions,
                  (SELECT count(*) FROM pages WHERE state = 'failed') AS failed`,
        )
        .get(),
    };
  } finally {
    db.close();
  }
}

it('continues its run after each kill and loses and duplicates nothing', async () => {
  // Slow enough to be killed in the middle repeatedly.
  const looker = await simulatedLooker({ latencyMs: 60 });
  const folder = await folderWithStore();
  const env = environmentFor(looker);
  const random = seededRandom(5);
  let server = await serve(folder, env);
  const options = {
    rate_limit_per_minute: 10_000,
    rate_limit_per_second: 1_000,
    batch_size: 10,
    workers: 2,
  };
  const { id: source } = await server.call<{ id: string }>('POST', '/sources', {
    name: 'acme',
    kind: 'looker',
    settings: { base_url: looker.url },
    options,
  });
  const { id: run } = await server.call<{ id: string }>('POST', `/sources/${source}/runs`, {});
  const state = () => server.call<ExtractionRun>('GET', `/runs/${run}`);
  let before = await state();
  for (let died = 0; died < deaths; died += 1) {
    const callsBefore = looker.stats().total;
    await expect
      .poll(() => looker.stats().total, { timeout: 60_000, interval: 20 })
      .toBeGreaterThan(callsBefore + 4);
    await sleep(random.next() * 150);
    before = await state();
    expect(before.state).toBe('running');
    server.child.kill('SIGKILL');
    await server.ended;
    server = await serve(folder, env);
  }
  await expect.poll(state, { timeout: 60_000 }).toMatchObject({ state: 'completed', message: null });

  const ended = await state();
  expect(ended.session).toBe(before.session);
  expect(ended.calls).toBeGreaterThan(before.calls);
  expect(
    (await server.call<ApiResponse<'GET /api/v1/extraction/runs'>>('GET', '/runs')).runs.map(({ id }) => id),
  ).toEqual([run]);
  const vaults = join(folder, '.headworks', 'vaults');
  const rows = vaultRows(vaults, 'acme.vault');
  const { calls } = looker.stats();
  expect(contentIn(rows)).toEqual(await contentOf(looker));
  expect(countsIn(join(vaults, 'acme.vault'))).toEqual({ sessions: 1, versions: rows.length, failed: 0 });
  // A fetcher and a thread each hold a page when the server dies.
  const members = calls['GET /looks/{look_id}'] ?? 0;
  expect(members).toBeGreaterThanOrEqual(23);
  expect(members).toBeLessThanOrEqual(23 + deaths * 4);
});
