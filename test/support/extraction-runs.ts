// Real extractions in tests: from a simulated Looker, over HTTP, through worker threads, into a vault on disk.
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { CommandExtractOptions as ExtractOptions, ExtractionSummary } from '../../src/app/extract.ts';
import { extract } from '../../src/app/extract.ts';
import { resolveConfig } from '../../src/config/index.ts';
import type { EmittedEvent } from '../../src/core/index.ts';
import { lookerContentTypes } from '../../src/extraction/sources/looker/description.ts';
import type { LookerSimulator, LookerSimulatorOptions } from '../../src/simulators/looker/server.ts';
import { startLookerSimulator } from '../../src/simulators/looker/server.ts';

/** Enough of everything for several pages of ten. */
export const smallWorld = {
  dashboards: 45,
  lookml_dashboards: 12,
  looks: 23,
  lookml_models: 3,
  explores: 7,
  folders: 20,
  boards: 4,
  users: 31,
  groups: 3,
  roles: 2,
  permission_sets: 1,
  model_sets: 0,
  scheduled_plans: 10,
} as const;

export async function simulatedLooker(options: LookerSimulatorOptions = {}): Promise<LookerSimulator> {
  const simulator = await startLookerSimulator({ items: smallWorld, ...options });
  onTestFinished(() => simulator.stop());
  return simulator;
}

/** Settings as a user would set them in the environment. */
export function environmentFor(
  simulator: Pick<LookerSimulator, 'url' | 'clientId' | 'clientSecret'>,
): Record<string, string> {
  return {
    LOOKER_BASE_URL: simulator.url,
    LOOKER_CLIENT_ID: simulator.clientId,
    LOOKER_CLIENT_SECRET: simulator.clientSecret,
    HEADWORKS_EXTRACTION_RETRY_DELAY_MS: '10',
  };
}

/** As fast as possible, in small pages. */
export const unthrottled = {
  'rate-limit-per-minute': '1000000',
  'rate-limit-per-second': '100000',
  'batch-size': '10',
  workers: '4',
};

export interface Run {
  readonly result: ExtractionSummary;
  readonly events: readonly EmittedEvent[];
}

/** One run of `headworks extract looker` within this process. Flags as on the command line, by name; settings as in the environment. */
export async function extractLooker(
  simulator: LookerSimulator,
  folder: string,
  flags: Readonly<Record<string, string>> = {},
  options: Partial<ExtractOptions> = {},
  settings: Readonly<Record<string, string>> = {},
): Promise<Run> {
  const config = resolveConfig({
    flags: { ...unthrottled, vault: join(folder, 'test.vault'), ...flags },
    env: { ...environmentFor(simulator), ...settings },
    cwd: folder,
  });
  const events: EmittedEvent[] = [];
  const result = await extract(
    config,
    { kind: 'looker' },
    {
      signal: new AbortController().signal,
      env: {},
      onSecret: () => undefined,
      ...options,
      onEvent: (event) => {
        events.push(event);
        options.onEvent?.(event);
      },
    },
  );
  return { result, events };
}

export interface VaultRow {
  readonly id: string;
  readonly content_type: number;
  readonly data: string;
}

/** Every row of the vault without its times. */
export function vaultRows(folder: string, file = 'test.vault'): readonly VaultRow[] {
  const db = new DatabaseSync(join(folder, file), { readOnly: true, readBigInts: true });
  try {
    return db
      .prepare(
        `SELECT id, content_type, name, owner, folder, created_at, updated_at, deleted_at, size, hash, data
         FROM content_items ORDER BY content_type, id`,
      )
      .all() as unknown as VaultRow[];
  } finally {
    db.close();
  }
}

/** The items of the simulator by the vault's type number and id, read without the code of extraction. */
export async function contentOf(simulator: LookerSimulator): Promise<ReadonlyMap<string, unknown>> {
  const api = `${simulator.url}/api/4.0`;
  const login = new URLSearchParams({
    client_id: simulator.clientId,
    client_secret: simulator.clientSecret,
  });
  const grant = await fetch(`${api}/login`, { method: 'POST', body: login });
  const { access_token: token } = (await grant.json()) as { access_token: string };
  const get = async <T>(path: string): Promise<T> => {
    const answer = await fetch(api + path, { headers: { authorization: `token ${token}` } });
    return (await answer.json()) as T;
  };
  const content = new Map<string, unknown>();
  const keep = (type: keyof typeof lookerContentTypes, id: string, item: unknown) =>
    content.set(`${lookerContentTypes[type]} ${id}`, item);
  type Item = { id: string };
  for (const type of [
    'folders',
    'boards',
    'users',
    'groups',
    'roles',
    'permission_sets',
    'model_sets',
  ] as const)
    for (const item of await get<Item[]>(`/${type}/search?sorts=id`)) keep(type, item.id, item);
  for (const item of await get<Item[]>('/scheduled_plans/search?sorts=id&all_users=true'))
    keep('scheduled_plans', item.id, item);
  for (const path of ['/dashboards/search', '/dashboards/lookml/search'])
    for (const item of await get<Item[]>(`${path}?sorts=id`)) keep('dashboards', item.id, item);
  for (const { id } of await get<Item[]>('/looks/search?sorts=id'))
    keep('looks', id, await get(`/looks/${id}`));
  type Model = { name: string; explores: { name: string }[] };
  for (const model of await get<Model[]>('/lookml_models')) {
    keep('lookml_models', model.name, model);
    for (const { name } of model.explores)
      keep('explores', `${model.name}::${name}`, await get(`/lookml_models/${model.name}/explores/${name}`));
  }
  return content;
}

/** The vault in the form of `contentOf`. */
export function contentIn(rows: readonly VaultRow[]): ReadonlyMap<string, unknown> {
  return new Map(rows.map((row) => [`${row.content_type} ${row.id}`, JSON.parse(row.data) as unknown]));
}
