// npm run check:looker-api: validates requests of our Looker client and responses of the simulated Looker against Looker's
// own OpenAPI document with Prism. Needs that document (LOOKER_OPENAPI=FILE) and, once, the npm registry.
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { extract } from '../src/app/extract.ts';
import { resolveConfig } from '../src/config/index.ts';
import { simulatedTypes, startLookerSimulator } from '../src/simulators/looker/server.ts';
import { startPrism } from './prism-proxy.ts';
import type { ViolationCollector } from './violation-collector.ts';
import { startViolationCollector } from './violation-collector.ts';

const prefix = '/api/4.0';
const lists = [
  'dashboards',
  'looks',
  'folders',
  'boards',
  'users',
  'groups',
  'roles',
  'permission_sets',
  'model_sets',
];
/** Endpoints that extractions do not use, but the simulator has. */
const others = [
  ...lists.flatMap((type) => [`/${type}`, `/${type}/3`]),
  '/versions',
  '/user',
  '/folders/1/children',
  '/lookml_models/finance',
  '/scheduled_plans/3',
  '/scheduled_plans?all_users=true',
];

/** Everything, and a folder with those below it, which lists the folders first. */
const extractions: readonly Readonly<Record<string, string>>[] = [
  { vault: 'all.vault' },
  { vault: 'folders.vault', folders: '1', recursive: 'true' },
];

const given = process.env['LOOKER_OPENAPI'];
if (given === undefined) {
  console.log(
    "Nothing was checked: set LOOKER_OPENAPI to a file with Looker's OpenAPI document (4.0, JSON).",
  );
} else if (!existsSync(given)) {
  console.error(`There is no file ${given} (LOOKER_OPENAPI).`);
  process.exitCode = 2;
} else {
  process.exitCode = await check(resolve(given));
}

async function check(document: string): Promise<number> {
  await using closing = new AsyncDisposableStack();
  const simulator = await startLookerSimulator({
    items: Object.fromEntries(simulatedTypes.map((type) => [type, 23])),
  });
  closing.defer(() => simulator.stop());
  const prism = await startPrism(document, simulator.url + prefix);
  closing.defer(() => prism.stop());
  const collector = await startViolationCollector(prism.url, prefix);
  closing.defer(() => collector.stop());
  const folder = await mkdtemp(join(tmpdir(), 'headworks-looker-api-'));
  closing.defer(() => rm(folder, { recursive: true, force: true }));
  for (const flags of extractions) await extractThrough(collector, simulator, folder, flags);
  await callOthers(collector, simulator);
  const violations = [...collector.violations()];
  for (const { call, text } of violations) console.log(`${call}: ${text}`);
  await verifyPrism(prism.url);
  console.log(`${collector.calls.size} different calls, ${violations.length} violations.`);
  return violations.length === 0 ? 0 : 1;
}

interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Extracts with the Looker client. */
async function extractThrough(
  { url }: ViolationCollector,
  { clientId, clientSecret }: Credentials,
  folder: string,
  flags: Readonly<Record<string, string>>,
): Promise<void> {
  const config = resolveConfig({
    flags: {
      ...flags,
      'batch-size': '10',
      'rate-limit-per-minute': '100000',
      'rate-limit-per-second': '1000',
    },
    env: { LOOKER_BASE_URL: url, LOOKER_CLIENT_ID: clientId, LOOKER_CLIENT_SECRET: clientSecret },
    cwd: folder,
  });
  const { signal } = new AbortController();
  const ignore = () => undefined;
  const { state: status } = await extract(
    config,
    { kind: 'looker' },
    { signal, env: {}, onEvent: ignore, onSecret: ignore },
  );
  if (status !== 'completed') throw new Error(`The extraction through Prism is ${status}.`);
}

async function callOthers(
  { url }: ViolationCollector,
  { clientId, clientSecret }: Credentials,
): Promise<void> {
  const body = new URLSearchParams({ client_id: clientId, client_secret: clientSecret });
  const login = await fetch(`${url}${prefix}/login`, { method: 'POST', body });
  const { access_token: token } = (await login.json()) as { access_token: string };
  for (const path of others) {
    const { status } = await fetch(url + prefix + path, { headers: { authorization: `token ${token}` } });
    if (status !== 200) throw new Error(`GET ${path} returned status ${status}.`);
  }
}

/** Verifies that Prism reports violations: this call is invalid. */
async function verifyPrism(prism: string): Promise<void> {
  const answer = await fetch(`${prism}/looks/search?limit=many`);
  if (answer.headers.has('sl-violations')) return;
  throw new Error('Prism did not object to "limit=many"; so that it objects to nothing else means nothing.');
}
