// Documents to ingest: files of the machine where a command runs, and items of a vault, with readable text and structured
// mentions from the source's fields.
import { readFile, realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CoreError, kindOf } from '../core/index.ts';
import type { ItemRecord, VaultChoice, VaultReader } from '../extraction/vault/index.ts';
import { chooseVault, openVaultReader, parseJson, vaultNameOf } from '../extraction/vault/index.ts';
import type { OnSkipped } from '../knowledge/folders/folder-files.ts';
import { filesBelow } from '../knowledge/folders/folder-files.ts';

/** The body of an ingest request. */
export interface FileDocument {
  readonly file: { readonly name: string; readonly media_type: string; readonly content: string };
  readonly source_system: 'files';
  readonly source_id: string;
}

/**
 * A file, or all documents below a folder. Hidden files are skipped, links and pipes are skipped and reported,
 * unreadable folders are yielded with the reason. Fails with INPUT_INVALID.
 */
export async function* documentPaths(
  path: string,
  cwd: string,
  onSkipped?: OnSkipped,
): AsyncGenerator<{ readonly path: string; readonly problem?: string }> {
  const whole = await realpath(resolve(cwd, path)).catch(() => null);
  if (whole === null)
    throw new CoreError('INPUT_INVALID', `There is no file or folder ${resolve(cwd, path)}. Check the path.`);
  if ((await stat(whole)).isDirectory()) {
    yield* filesBelow(whole, 0, onSkipped);
  } else yield { path: whole };
}

/** Read on demand: a folder may be larger than memory. Fails with INPUT_INVALID when it is too large. */
export async function fileDocument(path: string, maxBytes: number): Promise<FileDocument> {
  const { size } = await stat(path).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  if (size > maxBytes)
    throw new CoreError(
      'INPUT_INVALID',
      `${path} has ${size.toLocaleString('en')} bytes; at most ${maxBytes.toLocaleString('en')} are accepted. Split it.`,
    );
  const bytes = await readFile(path).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  const content = bytes.toString('base64');
  return { file: { name: path, media_type: '', content }, source_system: 'files', source_id: path };
}

const unreadable = (path: string, cause: unknown): CoreError =>
  new CoreError('INPUT_INVALID', `${path} cannot be read (${kindOf(cause)}). Check its permissions.`, {
    cause,
  });

/** The body of an ingest request. */
export interface VaultDocument {
  readonly file: { readonly name: string; readonly media_type: string; readonly content: string };
  readonly type: 'doc';
  readonly title: string;
  readonly source_system: string;
  readonly source_id: string;
  readonly source_ts?: string;
  /** The source of the items, to distinguish them from items of another source with the same file name. */
  readonly metadata: { readonly vault_source: string };
  readonly mentions: readonly VaultMention[];
}

interface VaultMention {
  readonly name: string;
  readonly type: 'person' | 'project' | 'object' | 'other';
  readonly relation: 'owner' | 'user' | 'folder' | 'model' | 'explore';
  readonly email?: string;
  /** `source#kind/id`, so that equal names are not treated as the same entity. */
  readonly identity?: string;
}

const pageSize = 500;
/** Maximum per item; dashboards with hundreds of tiles use a handful of models. */
const maxMentions = 200;

/** The vault stays open while its items are read. `system`: the source system in the space. Fails as opening a vault does. */
export async function* documentsOfVault(choice: VaultChoice, system?: string): AsyncGenerator<VaultDocument> {
  const reader = openVaultReader(await chooseVault(choice));
  try {
    yield* vaultDocuments(reader, { system: system ?? vaultNameOf(reader) });
  } finally {
    reader.close();
  }
}

/** Yields the live items as documents, type by type. */
function* vaultDocuments(
  reader: VaultReader,
  { system }: { readonly system: string },
): Generator<VaultDocument> {
  const known = reader.types().map(({ type }) => type);
  const people = namesOf(reader, known, 'users');
  const folders = namesOf(reader, known, 'folders');
  const source = reader.source() ?? system;
  for (const type of known)
    for (const item of itemsOf(reader, type)) {
      const data = reader.data(item.type, item.id);
      if (data !== null) yield documentOf(item, data, { people, folders, system, source });
    }
}

function* itemsOf(reader: VaultReader, type: string): Generator<ItemRecord> {
  for (let after = ''; ;) {
    const page = reader.items(type, { limit: pageSize, after });
    yield* page;
    const last = page.at(-1);
    if (!last || page.length < pageSize) return;
    after = last.id;
  }
}

type Fields = Readonly<Record<string, unknown>>;

interface Named {
  readonly name: string;
  readonly email?: string;
  /** Id of the entity at the source. */
  readonly id?: string;
}

/** Owners and folders are often ids: their own items have the names. */
function namesOf(reader: VaultReader, known: readonly string[], type: string): ReadonlyMap<string, Named> {
  const names = new Map<string, Named>();
  if (!known.includes(type)) return names;
  for (const { id, name } of itemsOf(reader, type)) {
    const data = reader.data(type, id);
    const named = data === null ? null : namedBy(name, fieldsOf(parseJson(data)));
    if (named) names.set(id, { ...named, id });
  }
  return names;
}

function namedBy(title: string | null, fields: Fields): Named | null {
  const parts = [textOf(fields['first_name']), textOf(fields['last_name'])].filter(
    (part) => part !== undefined,
  );
  const email = textOf(fields['email']);
  const name = textOf(title) ?? (parts.length > 0 ? parts.join(' ') : email);
  return name === undefined ? null : { name, ...(email === undefined ? {} : { email }) };
}

interface About {
  readonly people: ReadonlyMap<string, Named>;
  readonly folders: ReadonlyMap<string, Named>;
  readonly system: string;
  /** Name of the source as recorded in the vault, else `system`. */
  readonly source: string;
}

function documentOf(item: ItemRecord, data: string, about: About): VaultDocument {
  const { type, id, name, updatedAt, createdAt } = item;
  const at = new Date(updatedAt ?? createdAt ?? Number.NaN);
  const value = parseJson(data);
  const fields = fieldsOf(value);
  const title = name ?? namedBy(null, fields)?.name ?? `${type} ${id}`;
  const mentions = [
    ...ownerMention(item, fields, about),
    ...folderMention(item, fields, about),
    ...ownMention(item, fields),
    ...modelMentions(type, id, value),
  ].map(({ id: known, ...mention }) => ({
    ...mention,
    ...identityOf(about.source, mention.relation, known),
  }));
  return {
    file: {
      name: `${type}/${id}.json`,
      media_type: 'application/json',
      content: Buffer.from(JSON.stringify(readableItem(value) ?? { title })).toString('base64'),
    },
    type: 'doc',
    title,
    source_system: about.system,
    source_id: `${type}/${id}`,
    ...(Number.isNaN(at.getTime()) ? {} : { source_ts: at.toISOString() }),
    metadata: { vault_source: about.source },
    mentions: mentions
      .filter(({ name: each }) => each.trim() !== '')
      .map((each) => ({ ...each, name: each.name.slice(0, longestName) }))
      .slice(0, maxMentions),
  };
}

const longestName = 300;
const maxIdentityLength = 250;

/** Empty without an id of the source, or with one that is too long. */
function identityOf(
  source: string,
  relation: VaultMention['relation'],
  id: string | undefined,
): { readonly identity?: string } {
  const kind = relation === 'owner' ? 'user' : relation;
  const identity = `${source.replaceAll('#', ' ')}#${kind}/${id ?? ''}`;
  return id === undefined || id.trim() === '' || identity.length > maxIdentityLength ? {} : { identity };
}

/** A mention with the id of the entity at the source, if it has one. */
type FoundMention = Omit<VaultMention, 'identity'> & Named;

/** Numbers and codes are not names. */
const looksLikeName = (value: string): boolean => /\p{L}{2}/u.test(value) && /[\s@]/.test(value.trim());

function ownerMention({ owner }: ItemRecord, fields: Fields, { people }: About): readonly FoundMention[] {
  const known = owner === null ? undefined : people.get(owner);
  const written = [owner, fields['user_name']]
    .map(textOf)
    .find((name) => name !== undefined && looksLikeName(name));
  const named = known ?? (written === undefined ? undefined : { name: written });
  return named ? [{ ...named, type: 'person', relation: 'owner' }] : [];
}

/** Parents of Looker's models and explores are projects and models, not folders. */
const withoutFolders: ReadonlySet<string> = new Set(['explores', 'lookml_models', 'users']);

function folderMention(
  { type, folder }: ItemRecord,
  fields: Fields,
  { folders }: About,
): readonly FoundMention[] {
  if (withoutFolders.has(type)) return [];
  const inside = fieldsOf(fields['folder']);
  const written = folder !== null && folders.size === 0 && /\p{L}{2}/u.test(folder) ? folder : undefined;
  const name = (folder === null ? undefined : folders.get(folder)?.name) ?? textOf(inside['name']) ?? written;
  const id = folder ?? textOf(inside['id']);
  return name === undefined
    ? []
    : [{ name, type: 'other', relation: 'folder', ...(id === undefined ? {} : { id }) }];
}

/** An item that is itself an entity others refer to. */
function ownMention({ type, id, name }: ItemRecord, fields: Fields): readonly FoundMention[] {
  if (type === 'lookml_models') return [{ name: id, type: 'object', relation: 'model', id }];
  if (type === 'folders' && name !== null) return [{ name, type: 'other', relation: 'folder', id }];
  const person = type === 'users' ? namedBy(name, fields) : null;
  return person ? [{ ...person, type: 'person', relation: 'user', id }] : [];
}

/**
 * Explores are named `model::explore`, because several models may have one of the same name; queries at any depth name
 * their model and explore.
 */
function modelMentions(type: string, id: string, data: unknown): readonly FoundMention[] {
  const found = new Map<string, FoundMention>();
  const add = (relation: 'model' | 'explore', name: string | undefined): void => {
    if (name !== undefined) found.set(`${relation} ${name}`, { name, type: 'object', relation, id: name });
  };
  const addBoth = (model: string | undefined, explore: string | undefined): void => {
    add('model', model);
    add('explore', model === undefined || explore === undefined ? explore : `${model}::${explore}`);
  };
  if (type === 'explores') {
    const [model, explore] = id.split('::');
    addBoth(model, explore);
  }
  walk(data, 0, (record) => {
    if (!('model' in record || 'explore' in record)) return;
    addBoth(
      nameOf(record['model']),
      nameOf(record['explore'] ?? ('model' in record ? record['view'] : null)),
    );
  });
  return [...found.values()];
}

/** A name, or a record with one. */
function nameOf(value: unknown): string | undefined {
  const fields = fieldsOf(value);
  return textOf(value) ?? textOf(fields['name']) ?? textOf(fields['id']) ?? textOf(fields['label']);
}

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};

/** Depth of a dashboard that is searched for queries. */
const deepest = 6;

function walk(value: unknown, depth: number, visit: (record: Record<string, unknown>) => void): void {
  if (typeof value !== 'object' || value === null || depth > deepest) return;
  if (!Array.isArray(value)) visit(value as Record<string, unknown>);
  for (const each of Object.values(value)) walk(each, depth + 1, visit);
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined;

/** Fields whose names end like this hold ids, addresses or times, not text to search. */
const technicalNames =
  /(?:^|_)(?:ids?|uuid|guid|urls?|uris?|href|slug|hash|token|etag|at|crontab|timezone|locale|colou?r)$/i;
/** Fields about presentation and access. */
const technicalFields: ReadonlySet<string> = new Set(
  'can vis_config ui_config dynamic_fields layout dashboard_layouts section_order client_id links _links credentials credentials_email credentials_embed preferred_viewer load_configuration query_timezone avatar_url'.split(
    ' ',
  ),
);
const technicalValue =
  /^(?:\w+:\/\/\S*|\/\S*|\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}\S*|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{16,}|#[0-9a-f]{3,8})$/i;
/** Title and description come first. */
const firstFields = ['title', 'name', 'display_name', 'label', 'subject', 'description', 'summary'];
/** Depth of tiles, their queries and the queries' fields. */
const maxTextDepth = 12;

/** The same structure without ids, addresses, timestamps and flags; null when nothing is left. */
function readableItem(value: unknown, depth = 0): unknown {
  if (typeof value === 'string')
    return value.trim() === '' || technicalValue.test(value.trim()) ? null : value;
  if (typeof value === 'number') return value;
  if (typeof value !== 'object' || value === null || depth > maxTextDepth) return null;
  if (Array.isArray(value)) {
    const kept = value.map((each) => readableItem(each, depth + 1)).filter((each) => each !== null);
    return kept.length === 0 ? null : kept;
  }
  const entries = Object.entries(value)
    .filter(([name]) => !technicalNames.test(name) && !technicalFields.has(name))
    .map(([name, each]) => [name, readableItem(each, depth + 1)] as const)
    .filter(([, each]) => each !== null)
    .toSorted(([a], [b]) => placeOf(a) - placeOf(b));
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

function placeOf(name: string): number {
  const place = firstFields.indexOf(name);
  return place < 0 ? firstFields.length : place;
}
