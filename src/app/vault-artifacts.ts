// Items of a vault as documents for knowledge: readable text, and what the source says of them without anybody reading.
import { basename } from 'node:path';
import type { ItemRecord, VaultReader } from '../extraction/vault/index.ts';
import { openVaultReader, parseJson } from '../extraction/vault/index.ts';
import type { VaultChoice } from './vault.ts';
import { chooseVault } from './vault.ts';

/** The body of a request that takes it in. */
export interface VaultDocument {
  readonly file: { readonly name: string; readonly media_type: string; readonly content: string };
  readonly type: 'doc';
  readonly title: string;
  readonly source_system: string;
  readonly source_id: string;
  readonly source_ts?: string;
  readonly mentions: readonly VaultMention[];
}

interface VaultMention {
  readonly name: string;
  readonly type: 'person' | 'project' | 'object' | 'other';
  readonly relation: 'owner' | 'folder' | 'model' | 'explore';
  readonly email?: string;
}

const itemsAtOnce = 500;
/** Of one item; dashboards of hundreds of tiles name a handful of models. */
const mostMentions = 200;

/** Of a vault that is open while its items are taken. Fails as opening one does. */
export async function* documentsOfVault(choice: VaultChoice): AsyncGenerator<VaultDocument> {
  const reader = openVaultReader(await chooseVault(choice));
  try {
    yield* vaultDocuments(reader);
  } finally {
    reader.close();
  }
}

/** Live items of every type, type after type, or of the types given. */
export function* vaultDocuments(
  reader: VaultReader,
  types: readonly string[] = [],
): Generator<VaultDocument> {
  const known = reader.types().map(({ type }) => type);
  const people = namesOf(reader, known, 'users');
  const folders = namesOf(reader, known, 'folders');
  const system = `vault:${basename(reader.path).replace(/\.(vault|db)$/, '')}`;
  for (const type of types.length === 0 ? known : types)
    for (const item of itemsOf(reader, type)) {
      const data = reader.data(item.type, item.id);
      if (data !== null) yield documentOf(item, data, { people, folders, system });
    }
}

function* itemsOf(reader: VaultReader, type: string): Generator<ItemRecord> {
  for (let after = ''; ;) {
    const page = reader.items(type, { limit: itemsAtOnce, after });
    yield* page;
    const last = page.at(-1);
    if (!last || page.length < itemsAtOnce) return;
    after = last.id;
  }
}

interface Named {
  readonly name: string;
  readonly email?: string;
}

/** Owners and folders are often ids: their own items say what they are called. */
function namesOf(reader: VaultReader, known: readonly string[], type: string): ReadonlyMap<string, Named> {
  const names = new Map<string, Named>();
  if (!known.includes(type)) return names;
  for (const { id, name } of itemsOf(reader, type)) {
    const data = reader.data(type, id);
    const email = data === null ? undefined : textOf((parseJson(data) as Record<string, unknown>)['email']);
    if (name !== null) names.set(id, { name, ...(email === undefined ? {} : { email }) });
  }
  return names;
}

function documentOf(
  item: ItemRecord,
  data: string,
  about: {
    readonly people: ReadonlyMap<string, Named>;
    readonly folders: ReadonlyMap<string, Named>;
    readonly system: string;
  },
): VaultDocument {
  const { type, id, name, owner, folder, updatedAt, createdAt } = item;
  const at = new Date(updatedAt ?? createdAt ?? Number.NaN);
  const mentions: VaultMention[] = [
    ...(owner === null
      ? []
      : [{ ...(about.people.get(owner) ?? { name: owner }), type: 'person', relation: 'owner' } as const]),
    ...(folder === null
      ? []
      : [{ name: about.folders.get(folder)?.name ?? folder, type: 'other', relation: 'folder' } as const]),
    ...modelMentions(type, id, parseJson(data)),
  ];
  return {
    file: {
      name: `${type}/${id}.json`,
      media_type: 'application/json',
      content: Buffer.from(data).toString('base64'),
    },
    type: 'doc',
    title: name ?? `${type} ${id}`,
    source_system: about.system,
    source_id: `${type}/${id}`,
    ...(Number.isNaN(at.getTime()) ? {} : { source_ts: at.toISOString() }),
    mentions: mentions.filter(({ name: each }) => each.trim() !== '').slice(0, mostMentions),
  };
}

/** Explores are called `model::explore`; queries, wherever they stand, name their model and what of it they explore. */
function modelMentions(type: string, id: string, data: unknown): readonly VaultMention[] {
  const found = new Map<string, VaultMention>();
  const add = (relation: 'model' | 'explore', value: unknown): void => {
    const name = textOf(value) ?? textOf((value as Record<string, unknown> | null)?.['name']);
    if (name !== undefined)
      found.set(`${relation} ${name}`, { name: name.slice(0, 300), type: 'object', relation });
  };
  const [model, explore] = type === 'explores' ? id.split('::') : [];
  add('model', model);
  add('explore', explore);
  walk(data, 0, (record) => {
    if ('model' in record) add('model', record['model']);
    if ('explore' in record) add('explore', record['explore']);
    else if ('model' in record && 'view' in record) add('explore', record['view']);
  });
  return [...found.values()];
}

/** Queries lie at most so deep in a dashboard. */
const deepest = 6;

function walk(value: unknown, depth: number, visit: (record: Record<string, unknown>) => void): void {
  if (typeof value !== 'object' || value === null || depth > deepest) return;
  if (!Array.isArray(value)) visit(value as Record<string, unknown>);
  for (const each of Object.values(value)) walk(each, depth + 1, visit);
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined;
