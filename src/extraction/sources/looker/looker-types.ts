// Looker's twelve content types as data: where each is listed, in which order, and where its items keep their facts.
import type { LookerContentType } from '../../content-types.ts';
import { lookerContentTypes } from '../../content-types.ts';
import type { ItemShape, SourceType } from '../../ports.ts';

/** One list of the API. */
export interface LookerList {
  /** As in `Listing`. */
  readonly name: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly shape?: ItemShape;
}

export interface LookerType {
  readonly type: SourceType;
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
    type: { name, number: lookerContentTypes[name], paging: 'offset', shape: listed(facts) },
    lists: [{ name: '', path, query }],
  };
}

const named = { name: ['name'] } as const;

export const lookerTypes: readonly LookerType[] = [
  {
    type: {
      name: 'dashboards',
      number: lookerContentTypes.dashboards,
      paging: 'offset',
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
      paging: 'offset',
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
      paging: 'offset',
      shape: { items: inBody, id: [['name']], name: ['label'], folder: ['project_name'] },
    },
    lists: [{ name: '', path: '/lookml_models', query: {} }],
  },
  {
    type: {
      name: 'explores',
      number: lookerContentTypes.explores,
      paging: 'whole',
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
export function sourceTypeOf({ type, lists }: LookerType): SourceType {
  const isOrdinary = lists.every(({ name, shape }) => name === '' && shape === undefined);
  if (isOrdinary) return type;
  return { ...type, listings: lists.map(({ name, shape }) => (shape ? { name, shape } : { name })) };
}
