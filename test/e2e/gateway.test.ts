// The gateway from the command line, in real processes: simulated providers, a server, and every command on it.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/core/index.ts';
import { openServerDatabase } from '../../src/platform/postgres/server/server-store.ts';
import { identifier, sql } from '../../src/platform/postgres/sql.ts';
import { folderWithStore } from '../support/embedded-database.ts';
import type { HeadworksProcess } from '../support/headworks-process.ts';
import { runHeadworks, startHeadworks } from '../support/headworks-process.ts';
import { databaseUrl, temporaryFolder, uniqueName } from '../support/services.ts';

const providerKeys = { ACME_API_KEY: 'sk-acme-1f9d0c7b55', BETA_API_KEY: 'sk-beta-88e2a4d601' } as const;
const secrets: readonly string[] = Object.values(providerKeys);

const scenario = {
  providers: [
    {
      name: 'acme',
      keys: [providerKeys.ACME_API_KEY],
      models: [{ name: 'large', completion: 'Answer of the large model.' }],
    },
    {
      name: 'beta',
      keys: [providerKeys.BETA_API_KEY],
      models: [
        { name: 'small', completion: 'Answer of the small model.' },
        { name: 'slow', completion: 'word '.repeat(500), token_ms: 20 },
      ],
    },
  ],
};

/** Simulated providers in a process of their own. */
async function simulate(folder: string) {
  await writeFile(join(folder, 'scenario.json'), JSON.stringify(scenario));
  const simulator = startHeadworks(
    ['simulate', 'models', '--port', '0', '--scenario', 'scenario.json', '--json'],
    folder,
  );
  const [, url = ''] = await simulator.printed(/"state":"ready","url":"([^"]+)"/);
  const get = async (path: string) => (await fetch(url + path)).json();
  return {
    url,
    connections: () => get('/__connections') as Promise<{ open: number; aborted: number }>,
    script: (model: string, steps: readonly unknown[]) =>
      fetch(`${url}/__script`, { method: 'POST', body: JSON.stringify({ model, script: steps }) }),
  };
}

/** A model in the config file. JSON is YAML. */
const configure = (folder: string, model: object): Promise<void> =>
  writeFile(join(folder, 'headworks.yaml'), JSON.stringify({ gateway: { models: [model] } }));

async function serve(folder: string, env: Readonly<Record<string, string>>): Promise<HeadworksProcess> {
  const server = startHeadworks(['serve', '--port', '0', '--json'], folder, env);
  await server.printed(/"state":"ready"/);
  return server;
}

/** Every row of every table of the schema, and of those named after it, as text. */
async function dumpOf(schema: string): Promise<string> {
  const database = await openServerDatabase({ url: databaseUrl(), schema, clock: systemClock, poolSize: 1 });
  try {
    const { rows: tables } = await database.query<{ schema: string; name: string }>(sql`
      select table_schema as schema, table_name as name from information_schema.tables
      where starts_with(table_schema, ${schema}) and table_type = 'BASE TABLE'`);
    const dumps = [];
    for (const table of tables) {
      const { rows } = await database.query<{ row: string }>(
        sql`select each::text as row from ${identifier(table.schema)}.${identifier(table.name)} each`,
      );
      dumps.push(...rows.map(({ row }) => row));
    }
    return dumps.join('\n');
  } finally {
    await database.close();
  }
}

async function filesIn(folder: string): Promise<readonly { name: string; bytes: Buffer }[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return Promise.all(
    files.map(async ({ parentPath, name }) => ({
      name: join(parentPath, name),
      bytes: await readFile(join(parentPath, name)),
    })),
  );
}

it('models, keys and prompts work from the command line, and a 429 survives kill -9', async () => {
  const folder = await temporaryFolder();
  const schema = uniqueName('gateway_e2e');
  const store = {
    DATABASE_URL: databaseUrl(),
    HEADWORKS_DATABASE_SCHEMA: schema,
    HEADWORKS_JOBS_DRAIN_SECONDS: '1',
  };
  const env = { ...store, ...providerKeys, HEADWORKS_LOG_LEVEL: 'debug' };
  const providers = await simulate(folder);
  await configure(folder, { name: 'slow', baseUrl: `${providers.url}/beta/v1`, envVar: 'BETA_API_KEY' });
  const firstServer = await serve(folder, env);
  const printed: string[] = [];
  const run = async (...args: string[]) => {
    const result = await runHeadworks(args, folder, store);
    printed.push(result.stdout, result.stderr);
    return result;
  };
  /** The output of the command as JSON; its exit code must be as expected. */
  const json = async <T>(args: readonly string[], code = 0): Promise<T> => {
    const result = await run(...args, '--json');
    expect({ args, code: result.code, err: result.stderr }).toMatchObject({ args, code });
    return JSON.parse(code === 0 || code === 4 ? result.stdout : result.stderr) as T;
  };

  /** Ctrl-C during a response reaches the provider. */
  const interrupt = async (): Promise<void> => {
    const streaming = startHeadworks(['prompt', '--model', 'slow', 'Continue.'], folder, store);
    await streaming.printed(/word word word/);
    streaming.child.kill('SIGINT');
    expect(await streaming.ended).toBe(130);
    await expect.poll(() => providers.connections()).toEqual({ open: 0, aborted: 1 });
  };

  // Models are added with their keys in the environment of the server, not of the command.
  const add = (name: string, provider: string) =>
    [
      `models create ${provider}/${name} --provider ${provider}`,
      `--base-url ${providers.url}/${provider}/v1 --env-var ${provider.toUpperCase()}_API_KEY`,
    ].flatMap((words) => words.split(' '));
  const [added, text] = await Promise.all([json(add('large', 'acme')), run(...add('small', 'beta'))]);
  expect(added).toMatchObject({ name: 'acme/large', upstream_model: 'large', is_configured: true });
  expect(text).toMatchObject({ code: 0, stdout: 'Model beta/small is created.\n' });

  const [listed, twice, unknown] = await Promise.all([
    json<{ models: { name: string }[] }>(['models']),
    json(add('large', 'acme'), 1),
    run('models', 'get', 'larg'),
  ]);
  expect(listed.models.map(({ name }) => name).sort()).toEqual(['acme/large', 'beta/small', 'slow']);
  expect(twice).toMatchObject({ error: { code: 'GATEWAY_MODEL_EXISTS' } });
  expect(unknown).toMatchObject({ code: 1, stdout: '' });
  expect(unknown.stderr).toContain('Did you mean acme/large?');

  // Cooldown set manually, disabled, probed, and enabled again.
  const [cooled, disabled] = await Promise.all([
    json(['models', 'set-cooldown', 'acme/large', '--seconds', '600', '--reason', 'billing']),
    json(['models', 'disable', 'beta/small']),
    json(['models', 'disable', 'slow']),
  ]);
  expect(cooled).toMatchObject({ cooldowns: [{ cause: 'manual', reason: 'billing' }] });
  expect(disabled).toMatchObject({ is_active: false });
  const [shown, explained, skipped, unanswered] = await Promise.all([
    json(['models', 'get', 'acme/large']),
    run('models', 'explain', 'acme/large'),
    json(['models', 'probe', 'acme/large']),
    json(['prompt', 'Which model are you?'], 1),
  ]);
  expect(shown).toMatchObject({ name: 'acme/large', env_var: 'ACME_API_KEY', request_count: 0 });
  expect(explained.stdout).toContain('Not eligible: it is cooling down until');
  expect(skipped).toMatchObject({ probes: [{ outcome: 'skipped' }] });
  expect(unanswered).toMatchObject({ error: { code: 'GATEWAY_EXHAUSTED' } });
  const [warmed, enabled] = await Promise.all([
    json(['models', 'clear-cooldown', 'acme/large']),
    json(['models', 'enable', 'beta/small']),
  ]);
  expect([warmed, enabled]).toMatchObject([{ available_at: null }, { is_active: true }]);
  await providers.script('small', [{ fault: 500 }]);
  expect(await json(['models', 'probe'], 4)).toMatchObject({
    probes: expect.arrayContaining([
      expect.objectContaining({ model: 'acme/large', outcome: 'success' }),
      expect.objectContaining({ model: 'beta/small', outcome: 'server-error' }),
    ]) as unknown[],
  });

  // A key is shown once, used, counted and revoked.
  const made = await json<{ id: string; key: string }>(['keys', 'create', 'laptop']);
  printed.splice(-2);
  expect(made.key).toMatch(/^hwk_/);
  const { url } = JSON.parse(firstServer.stdout().split('\n')[0] ?? '') as { url: string };
  const asKey = (path: string) =>
    fetch(url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${made.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'acme/large', messages: [{ role: 'user', content: 'hi' }] }),
    });
  expect((await asKey('/v1/chat/completions')).status).toBe(200);
  const [keys, usage, placed] = await Promise.all([
    json(['keys']),
    json(['keys', 'usage']),
    json(['models', 'explain', 'acme/large']),
  ]);
  expect(keys).toMatchObject({ keys: [{ id: made.id, name: 'laptop', revoked_at: null }] });
  expect(usage).toMatchObject({
    usage: expect.arrayContaining([
      expect.objectContaining({ caller: `key:${made.id}`, model: 'acme/large', requests: 1 }),
    ]) as unknown[],
  });
  expect(placed).toMatchObject({
    position: 1,
    recent_attempts: [{ caller: `key:${made.id}` }, { outcome: 'success', caller: 'probe' }],
  });

  // Prompts: the model is printed beside the response, not in it; each outcome has its exit code.
  const [revoked, completed, asJson, unknownModel] = await Promise.all([
    json(['keys', 'revoke', 'laptop', '--force']),
    run('prompt', '--model', 'acme/large', 'Which model are you?'),
    json(['prompt', '--model', 'acme/large', 'Which model are you?']),
    run('prompt', '--model', 'acme/larger', 'Which model are you?'),
    json(['models', 'enable', 'slow']),
  ]);
  expect(revoked).toMatchObject({ id: made.id });
  expect((await asKey('/v1/chat/completions')).status).toBe(401);
  expect(completed).toMatchObject({ code: 0, stdout: 'Answer of the large model.\n' });
  expect(completed.stderr).toContain('— acme/large');
  expect(asJson).toEqual({
    response: 'Answer of the large model.',
    model: 'acme/large',
    attempts: 1,
    fallback_used: false,
  });
  expect(unknownModel.code).toBe(2);
  await providers.script('large', [{ fault: 'cut' }]);
  const [broken] = await Promise.all([
    run('prompt', '--model', 'acme/large', 'Which model are you?'),
    interrupt(),
  ]);
  expect(broken.code).toBe(4);
  expect(broken.stderr).toContain('was interrupted');

  // A rejected key is stored at once: a server that is killed right after still has it after its restart.
  await providers.script('large', [{ fault: 429, hint: 'groq-prose', seconds: 900 }]);
  const refused = await run('prompt', '--model', 'acme/large,beta/small', '--json', 'Which model are you?');
  firstServer.child.kill('SIGKILL');
  await firstServer.ended;
  expect(JSON.parse(refused.stdout)).toMatchObject({ model: 'beta/small', fallback_used: true });
  const secondServer = await serve(folder, env);
  const kept = await json<{ available_at: string }>(['models', 'get', 'acme/large']);
  expect(kept).toMatchObject({ cooldowns: [{ cause: 'rate-limit' }] });
  expect(Date.parse(kept.available_at)).toBeGreaterThan(Date.now() + 600_000);
  secondServer.child.kill('SIGTERM');
  expect(await secondServer.ended).toBe(0);

  const dump = await dumpOf(schema);
  expect(dump).toContain('acme/large');
  const logs = [firstServer, secondServer].flatMap(({ stdout, stderr }) => [stdout(), stderr()]);
  expect(logs.join('')).toContain('rate_limit_detected');
  const kepts = (await filesIn(join(folder, '.headworks'))).map(({ bytes }) => bytes.toString('latin1'));
  for (const secret of [...secrets, made.key])
    for (const place of [dump, ...printed, ...logs, ...kepts]) expect(place.includes(secret)).toBe(false);
});

it('a command without a server calls models of the config file and stores no key on disk', async () => {
  const folder = await folderWithStore();
  const providers = await simulate(folder);
  const baseUrl = `${providers.url}/acme/v1`;
  await configure(folder, { name: 'mine', baseUrl, model: 'large', envVar: 'ACME_API_KEY' });
  const completed = await runHeadworks(
    ['prompt', '--model', 'mine', 'Which model are you?'],
    folder,
    providerKeys,
  );
  expect(completed, completed.stderr).toMatchObject({ code: 0, stdout: 'Answer of the large model.\n' });
  const listed = await runHeadworks(['models', '--json'], folder, providerKeys);
  expect(JSON.parse(listed.stdout)).toMatchObject({
    models: [{ name: 'mine', origin: 'config', request_count: 1, success_count: 1 }],
  });
  const files = await filesIn(join(folder, '.headworks'));
  expect(files.length).toBeGreaterThan(100);
  for (const { name, bytes } of files)
    for (const secret of secrets)
      expect({ name, holds: bytes.includes(secret) }).toEqual({ name, holds: false });
});
