// Counts the files of src/ that one request executes in a warm server, by V8's precise coverage of its main thread.
// What timers execute in the same time is measured first and subtracted.
import { Session } from 'node:inspector/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServer } from '../../src/app/start.ts';
import { resolveConfig } from '../../src/config/index.ts';
import { readScenario } from '../../src/simulators/models/scenario.ts';
import { startModelsSimulator } from '../../src/simulators/models/simulator.ts';

const source = resolve('src');

/** Functions that ran since the last call, as `file position`. */
async function executed(session: Session): Promise<ReadonlySet<string>> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return new Set(
    result
      .filter(({ url }) => url.startsWith('file:') && fileURLToPath(url).startsWith(source))
      .flatMap(({ url, functions }) =>
        functions
          .filter(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0)
          .map(({ ranges }) => `${fileURLToPath(url).slice(source.length + 1)} ${ranges[0]?.startOffset}`),
      )
      .filter((each) => !each.startsWith('simulators/')),
  );
}

const filesOf = (functions: Iterable<string>): ReadonlySet<string> =>
  new Set([...functions].map((each) => each.split(' ', 1)[0] ?? ''));

interface World {
  readonly call: (
    method: string,
    path: string,
    body?: unknown,
    token?: string,
  ) => Promise<Record<string, unknown>>;
  readonly stop: () => Promise<void>;
}

async function startWorld(): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-stats-'));
  const provider = (name: string, latencyMs: number) => ({
    name,
    latency_ms: latencyMs,
    models: [{ name, completion: 'Yes.' }],
  });
  const scenario = readScenario({ providers: [provider('quick', 0), provider('never', 3_600_000)] });
  const models = await startModelsSimulator({ scenario });
  const env = {
    HEADWORKS_LOG_LEVEL: 'silent',
    HEADWORKS_PORT: '0',
    HEADWORKS_DRAIN_SECONDS: '0',
    HEADWORKS_JOBS_DRAIN_SECONDS: '0',
    // The model that holds the slot must not time out during the measurement.
    REQUEST_TIMEOUT_SECONDS: '600',
    HEADWORKS_GATEWAY_RESPONSE_TIMEOUT_SECONDS: '600',
    HEADWORKS_GATEWAY_FIRST_TOKEN_TIMEOUT_SECONDS: '600',
  };
  const server = await startServer(resolveConfig({ flags: {}, cwd: folder, env }), {
    role: 'serve',
    env: { MODEL_API_KEY: 'sk-model' },
  });
  const call: World['call'] = async (method, path, body, token = server.adminToken) => {
    const response = await fetch(server.url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, ...(text === '' ? {} : (JSON.parse(text) as object)) };
  };
  for (const name of ['quick', 'never'])
    await call('POST', '/api/v1/models', { name, base_url: models.baseUrl(name), env_var: 'MODEL_API_KEY' });
  return {
    call,
    stop: async () => {
      await server.stop();
      await models.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** An organization at its limit of 1, and the request that is rejected. */
async function rejectedRequest({ call }: World): Promise<() => Promise<unknown>> {
  const { id } = await call('POST', '/api/v1/organizations', { name: 'acme' });
  const { key } = await call('POST', `/api/v1/organizations/${String(id)}/keys`, { name: 'stats' });
  await call('POST', '/api/v1/deployments', {
    organization: id,
    name: 'ask',
    workflow: 'prompt',
    options: { template: 'Is {{what}} so?', model: 'never' },
  });
  await call('PUT', `/api/v1/limits/${String(id)}`, { limit: 1 });
  const request = () => call('POST', '/deployment/api/acme/ask', { what: 'it' }, String(key));
  await request();
  return request;
}

let documents = 0;
const text = (): string =>
  `Note ${(documents += 1)}. Ann Lee decided with Bob Ray to move the launch to April ${documents}.`;

async function ingestAndWait({ call }: World): Promise<unknown> {
  const accepted = await call('POST', '/api/v1/knowledge/artifacts', {
    text: text(),
    source_id: `n${documents}`,
  });
  const id = String(accepted['artifact_uid'] ?? accepted['id']);
  for (let tries = 0; tries < 400; tries += 1) {
    const { status } = (await call('GET', `/api/v1/knowledge/artifacts/${id}`)) as {
      status?: { state?: string };
    };
    if (status?.state === 'completed') return accepted;
    await sleep(25);
  }
  throw new Error('The document was not processed within 10 s.');
}

/** Rows for `npm run stats -- --flows`. */
export async function measureFlows(): Promise<[string, string][]> {
  const world = await startWorld();
  const session = new Session();
  session.connect();
  try {
    const { key } = await world.call('POST', '/api/v1/keys', { name: 'stats' });
    const rejected = await rejectedRequest(world);
    const chat = () =>
      world.call(
        'POST',
        '/v1/chat/completions',
        { model: 'quick', messages: [{ role: 'user', content: 'Hi' }] },
        String(key),
      );
    const search = () =>
      world.call('POST', '/api/v1/knowledge/search', { query: 'when was the launch moved' });
    const flows: readonly [string, () => Promise<unknown>, number][] = [
      ['429 for a tenant request', rejected, 429],
      ['chat completion', chat, 200],
      ['document: request and job', () => ingestAndWait(world), 202],
      ['search', search, 200],
    ];
    for (const [name, run, expected] of flows)
      for (let round = 0; round < 3; round += 1) {
        const { status } = (await run()) as { status?: number };
        if (status !== expected) throw new Error(`${name}: status ${status} instead of ${expected}.`);
      }
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    // Let background work of the warm-up finish, then measure what runs without requests.
    await sleep(5_000);
    await executed(session);
    await sleep(3_000);
    const idle = await executed(session);
    const rows: [string, string][] = [];
    for (const [name, run] of flows) {
      await executed(session);
      await run();
      const own = [...(await executed(session))].filter((each) => !idle.has(each));
      rows.push([`files executed: ${name}`, String(filesOf(own).size)]);
      if (process.argv.includes('--list'))
        console.log(`${name}:\n  ${[...filesOf(own)].sort().join('\n  ')}`);
    }
    return rows;
  } finally {
    session.disconnect();
    await world.stop();
  }
}
