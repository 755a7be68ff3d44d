// What authentication and slot add to a request to the tenant API of a real server.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Pool } from 'undici';
import type { Figure } from '../figure.ts';
import { freePort, run } from '../gateway/processes.ts';
import { inTurns } from './measure.ts';

const token = 'bench-admin-token-0123456789';
const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

export const requestFigureName = 'authentication, slot and its release add to a request, p50';

export interface RequestPlan {
  readonly redisUrl: string;
  readonly turns: number;
  readonly turnMs: number;
}

/** The same request with a key and without: the difference is authentication, the slot, and its release. */
export async function requestFigure({ redisUrl, turns, turnMs }: RequestPlan): Promise<Figure> {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-bench-'));
  await using closing = new AsyncDisposableStack();
  closing.defer(() => rm(folder, { recursive: true, force: true }));
  const port = await freePort();
  const env = {
    HEADWORKS_ADMIN_TOKEN: token,
    HEADWORKS_LOG_LEVEL: 'warn',
    // A store of its own in the temporary folder. No statement runs before the slot is acquired.
    DATABASE_URL: '',
    REDIS_URL: redisUrl,
  };
  const server = await run([process.execPath, main, 'serve', '--port', String(port)], port, env, folder);
  closing.defer(() => server.stop());
  const { path, key } = await publish(server.url);
  const pool = new Pool(server.url, { connections: 1 });
  closing.defer(() => pool.destroy());
  const post = async (expected: number, headers: Readonly<Record<string, string>>): Promise<void> => {
    const json = { 'content-type': 'application/json' };
    // Not JSON: rejected after the slot was acquired; nothing is executed.
    const answer = await pool.request({ method: 'POST', path, headers: { ...json, ...headers }, body: '{' });
    const text = await answer.body.text();
    if (answer.statusCode !== expected)
      throw new Error(`The server responded ${answer.statusCode} instead of ${expected}: ${text}`);
  };
  const measured = await inTurns(
    {
      withSlot: () => post(400, { authorization: `Bearer ${key}` }),
      without: () => post(401, {}),
    },
    ['withSlot', 'without'],
    { callers: 1, organizations: 1, turns, turnMs },
  );
  const addedMs = measured.withSlot.p50Ms - measured.without.p50Ms;
  return {
    name: requestFigureName,
    value: addedMs,
    unit: 'ms',
    against: { name: 'the same request without a key', value: measured.without.p50Ms },
    goal: 'under 1 ms',
    isMet: addedMs < 1,
  };
}

/** An organization with a key and a deployment. */
async function publish(url: string): Promise<{ readonly path: string; readonly key: string }> {
  const post = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const answer = await fetch(url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (answer.status !== 201) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as Record<string, unknown>;
  };
  const name = `bench-${Date.now()}`;
  const organization = await post('/api/v1/organizations', { name });
  const { key } = await post(`/api/v1/organizations/${name}/keys`, { name: 'bench' });
  await post('/api/v1/deployments', {
    organization: name,
    name: 'bench',
    workflow: 'prompt',
    options: { template: 'Say {{word}}.' },
  });
  return { path: `/deployment/api/${String(organization['id'])}/bench`, key: String(key) };
}
