// Looker's twelve content types as data: where each is listed, in which order, and where its items keep their facts.
import { ExtractionError } from '../../errors.ts';
import type { ItemShape, ContentType } from '../../types.ts';

/** Looker's content types with the numbers of document 001. */
export const lookerContentTypes = {
  dashboards: 1,
  looks: 2,
  lookml_models: 3,
  explores: 4,
  folders: 5,
  boards: 6,
  users: 7,
  groups: 8,
  roles: 9,
  permission_sets: 10,
  model_sets: 11,
  scheduled_plans: 12,
} as const;

export type LookerContentType = keyof typeof lookerContentTypes;

/** Types of other sources are numbered from here by the vault that holds them. */
export const firstOwnNumber = 101;

/** One list of the API. */
export interface LookerList {
  /** As in `Listing`. */
  readonly name: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly shape?: ItemShape;
}

export interface LookerType {
  readonly type: ContentType;
  readonly lists: readonly LookerList[];
  /** Where one item is, if items are fetched one by one: `{child}` and `{parent}` stand for the request's keys. */
  readonly itemPath?: string;
  /** Its lists take a `folder_id`. */
  readonly hasFolders?: boolean;
}

/** Without an order, pages overlap and leave gaps. */
const byId = { sorts: 'id' };
const inBody = { kind: 'list', path: [] } as const;
const asBody = { kind: 'single' } as const;

const listed = (facts: Omit<ItemShape, 'items' | 'id'>): ItemShape => ({
  items: inBody,
  id: [['id']],
  ...facts,
});

const content: Omit<ItemShape, 'items' | 'id'> = {
  name: ['title'],
  owner: ['user_id'],
  folder: ['folder', 'id'],
  createdAt: ['created_at'],
  updatedAt: ['updated_at'],
};

function listedType(
  name: LookerContentType,
  path: string,
  facts: Omit<ItemShape, 'items' | 'id'>,
  query: Readonly<Record<string, string>> = byId,
): LookerType {
  return {
    type: { name, number: lookerContentTypes[name], pagination: 'offset', shape: listed(facts) },
    lists: [{ name: '', path, query }],
  };
}

const named = { name: ['name'] } as const;

export const lookerTypes: readonly LookerType[] = [
  {
    type: {
      name: 'dashboards',
      number: lookerContentTypes.dashboards,
      pagination: 'offset',
      shape: listed(content),
    },
    lists: [
      { name: '', path: '/dashboards/search', query: byId },
      // The API document gives it the shape of an export (`dashboard_id`, `lookml`); servers answer with dashboards
      // whose id is `model::dashboard` (looker-open-source/sdk-codegen issue 1656).
      { name: 'lookml', path: '/dashboards/lookml/search', query: byId },
    ],
    hasFolders: true,
  },
  {
    // The list has no query, so it only tells which looks there are.
    type: {
      name: 'looks',
      number: lookerContentTypes.looks,
      pagination: 'offset',
      shape: { ...content, items: asBody, id: [['id']] },
      parent: { from: 'self', key: ['id'] },
    },
    lists: [{ name: '', path: '/looks/search', query: { ...byId, fields: 'id' }, shape: listed({}) }],
    itemPath: '/looks/{child}',
    hasFolders: true,
  },
  {
    // This list knows no `sorts`; the server keeps it in the order of names.
    type: {
      name: 'lookml_models',
      number: lookerContentTypes.lookml_models,
      pagination: 'offset',
      shape: { items: inBody, id: [['name']], name: ['label'], folder: ['project_name'] },
    },
    lists: [{ name: '', path: '/lookml_models', query: {} }],
  },
  {
    type: {
      name: 'explores',
      number: lookerContentTypes.explores,
      pagination: 'whole',
      shape: { items: asBody, id: [['model_name'], ['name']], name: ['label'], folder: ['model_name'] },
      parent: {
        from: 'lookml_models',
        children: ['explores'],
        key: ['name'],
        parentKey: ['name'],
        hasChildren: ['has_content'],
      },
    },
    lists: [],
    itemPath: '/lookml_models/{parent}/explores/{child}',
  },
  listedType('folders', '/folders/search', {
    ...named,
    owner: ['creator_id'],
    folder: ['parent_id'],
    createdAt: ['created_at'],
  }),
  listedType('boards', '/boards/search', {
    name: ['title'],
    owner: ['user_id'],
    createdAt: ['created_at'],
    updatedAt: ['updated_at'],
  }),
  listedType('users', '/users/search', { name: ['display_name'], folder: ['personal_folder_id'] }),
  listedType('groups', '/groups/search', named),
  listedType('roles', '/roles/search', named),
  listedType('permission_sets', '/permission_sets/search', named),
  listedType('model_sets', '/model_sets/search', named),
  listedType(
    'scheduled_plans',
    '/scheduled_plans/search',
    { ...named, owner: ['user_id'], createdAt: ['created_at'], updatedAt: ['updated_at'] },
    { ...byId, all_users: 'true' },
  ),
];

/** The same type, asked for in these folders only: each list once per folder. */
export function inFolders(of: LookerType, folders: readonly string[]): LookerType {
  if (of.hasFolders !== true) return of;
  return {
    ...of,
    type: { ...of.type, scope: `folders ${folders.join(', ')}` },
    lists: folders.flatMap((folder) =>
      of.lists.map((list) => ({
        ...list,
        name: list.name === '' ? `folder-${folder}` : `${list.name}-folder-${folder}`,
        query: { ...list.query, folder_id: folder },
      })),
    ),
  };
}

/** As the pipeline sees it. */
export function contentTypeOf({ type, lists }: LookerType): ContentType {
  const isOrdinary = lists.every(({ name, shape }) => name === '' && shape === undefined);
  if (isOrdinary) return type;
  return { ...type, listings: lists.map(({ name, shape }) => (shape ? { name, shape } : { name })) };
}

// Where a Looker's API is, from what people write as its address.

export interface LookerAddress {
  /** As people know it: `https://acme.looker.com:19999`. */
  readonly base: string;
  /** `https://acme.looker.com:19999/api/4.0` */
  readonly api: string;
  /** With port, if it is not the usual one. */
  readonly host: string;
}

/** Accepts it with or without `/api/4.0`, trailing slash and port. Fails with EXTRACTION_SOURCE_INVALID. */
export function lookerAddress(baseUrl: string): LookerAddress {
  const url = URL.canParse(baseUrl.trim()) ? new URL(baseUrl.trim()) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw invalid('is no web address; write it like https://acme.looker.com');
  if (url.username !== '' || url.password !== '')
    throw invalid('holds a user or password; give LOOKER_CLIENT_ID and LOOKER_CLIENT_SECRET instead');
  if (url.search !== '' || url.hash !== '')
    throw invalid('ends in a query or fragment; write it like https://acme.looker.com');
  const path = url.pathname.replace(/\/+$/, '').replace(/\/api(\/\d+\.\d+)?$/, '');
  const base = url.origin + path.replace(/\/+$/, '');
  return { base, api: `${base}/api/4.0`, host: url.host };
}

function invalid(what: string): ExtractionError {
  return new ExtractionError('EXTRACTION_SOURCE_INVALID', `LOOKER_BASE_URL ${what}.`);
}
