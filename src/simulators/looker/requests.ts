// Routes and query parameters, named as in Looker's documentation.
import type { SimulatedType } from './types.ts';

export type Route = { readonly endpoint: string } & (
  | { readonly kind: 'login' | 'logout' | 'versions' | 'me' }
  /** `listFields`: fields of the items in the list. `folder`: only its content. */
  | {
      readonly kind: 'list';
      readonly type: SimulatedType;
      readonly listFields?: string;
      readonly folder?: string;
    }
  | { readonly kind: 'item'; readonly type: SimulatedType; readonly id: string }
);

const idNames = {
  dashboards: 'dashboard_id',
  looks: 'look_id',
  lookml_models: 'lookml_model_name',
  folders: 'folder_id',
  boards: 'board_id',
  users: 'user_id',
  groups: 'group_id',
  roles: 'role_id',
  permission_sets: 'permission_set_id',
  model_sets: 'model_set_id',
  scheduled_plans: 'scheduled_plan_id',
} as const;

type ListedType = keyof typeof idNames;

const isListed = (name: string): name is ListedType => Object.hasOwn(idNames, name);

/** The fields of a dashboard in `GET /dashboards`. */
const dashboardListFields =
  'can,content_favorite_id,content_metadata_id,description,hidden,id,model,readonly,folder,title,user_id,slug';

const single: Readonly<Record<string, Route>> = {
  'POST /login': { kind: 'login', endpoint: 'POST /login' },
  'DELETE /logout': { kind: 'logout', endpoint: 'DELETE /logout' },
  'GET /versions': { kind: 'versions', endpoint: 'GET /versions' },
  'GET /user': { kind: 'me', endpoint: 'GET /user' },
  'GET /dashboards': {
    kind: 'list',
    endpoint: 'GET /dashboards',
    type: 'dashboards',
    listFields: dashboardListFields,
  },
  'GET /dashboards/lookml/search': {
    kind: 'list',
    endpoint: 'GET /dashboards/lookml/search',
    type: 'lookml_dashboards',
  },
};

/** `path` is below `/api/4.0`. */
export function findRoute(method: string, path: string): Route | undefined {
  const exact = single[`${method} ${path}`];
  if (exact || method !== 'GET') return exact;
  const [, name = '', id, part, last, ...more] = path.split('/').map(decodePart);
  if (!isListed(name) || more.length > 0) return undefined;
  const item = `GET /${name}/{${idNames[name]}}`;
  if (id === undefined) return { kind: 'list', endpoint: `GET /${name}`, type: name };
  if (part === undefined) {
    if (id === 'search' && name !== 'lookml_models')
      return { kind: 'list', endpoint: `GET /${name}/search`, type: name };
    const type = name === 'dashboards' && id.includes('::') ? 'lookml_dashboards' : name;
    return { kind: 'item', endpoint: item, type, id };
  }
  if (name === 'folders' && part === 'children' && last === undefined)
    return { kind: 'list', endpoint: `${item}/children`, type: 'folders', folder: id };
  if (name === 'lookml_models' && part === 'explores' && last !== undefined)
    return {
      kind: 'item',
      endpoint: `${item}/explores/{explore_name}`,
      type: 'explores',
      id: `${id}::${last}`,
    };
  return undefined;
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/* ---- the query of a list; problems are reported as Looker does ---- */

export interface ListingQuery {
  /** Null: everything from `offset` on. */
  readonly limit: number | null;
  readonly offset: number;
  /** Empty: no order was requested. */
  readonly sorts: readonly SortField[];
  /** As written; empty: all. */
  readonly fields: string;
  readonly filters: readonly (readonly [field: string, pattern: string])[];
  /** As Link headers repeat it. */
  readonly parameters: URLSearchParams;
}

export interface SortField {
  readonly field: string;
  readonly isDescending: boolean;
}

export interface FieldProblem {
  readonly field: string;
  readonly code: string;
  readonly message: string;
}

/** What items of these types can be sorted by; other types by any of their fields. */
const sortable: Readonly<Partial<Record<SimulatedType, string>>> = {
  dashboards:
    'title user_id id created_at folder_id description view_count favorite_count slug content_favorite_id ' +
    'content_metadata_id deleted deleted_at last_viewed_at last_accessed_at',
  lookml_dashboards: 'title id folder_id content_favorite_id content_metadata_id',
  looks:
    'title user_id id created_at folder_id description updated_at last_updater_id view_count favorite_count ' +
    'content_favorite_id deleted deleted_at last_viewed_at last_accessed_at query_id',
};

// oxfmt-ignore
const filterNames = [

  'id', 'slug', 'title', 'name', 'description', 'folder_id', 'parent_id', 'creator_id', 'user_id', 'query_id',
  'email', 'first_name', 'last_name', 'dashboard_id', 'look_id', 'external_group_id', 'content_metadata_id',
];

const largest = 1_000_000_000;

/** The query, or every problem it has. */
export function readListingQuery(
  type: SimulatedType,
  parameters: URLSearchParams,
): { readonly query: ListingQuery } | { readonly problems: readonly FieldProblem[] } {
  const problems: FieldProblem[] = [];
  const number = (field: string, least: number): number | null => {
    const text = parameters.get(field);
    if (text === null || text === '') return null;
    const value = /^\d{1,10}$/.test(text) ? Number(text) : -1;
    if (value >= least && value <= largest) return value;
    problems.push({ field, code: 'invalid', message: `${field} must be a whole number from ${least}` });
    return null;
  };
  const limit = number('limit', 1);
  const offset = number('offset', 0);
  const perPage = number('per_page', 1);
  const page = number('page', 1);
  const sorts = readSorts(parameters.get('sorts') ?? '');
  for (const { field } of sorts)
    if (!(sortable[type] ?? field).split(' ').includes(field))
      problems.push({ field: 'sorts', code: 'invalid', message: `cannot sort by ${field}` });
  if (problems.length > 0) return { problems };
  const size = limit ?? perPage;
  return {
    query: {
      limit: size,
      offset: offset ?? (limit === null && size !== null && page !== null ? (page - 1) * size : 0),
      sorts,
      fields: parameters.get('fields') ?? '',
      filters: filterNames.flatMap((name) => {
        const pattern = parameters.get(name);
        return pattern === null ? [] : [[name, pattern] as const];
      }),
      parameters,
    },
  };
}

/** `title desc, id`; also `-title`. */
function readSorts(text: string): readonly SortField[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      const [name = '', direction = ''] = part.split(/\s+/);
      return {
        field: name.replace(/^-/, ''),
        isDescending: name.startsWith('-') || /^desc$/i.test(direction),
      };
    });
}
