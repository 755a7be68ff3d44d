// Which endpoint of the API a call is for, named as in its documentation.
import type { SimulatedType } from './ports.ts';

export type Route = { readonly endpoint: string } & (
  | { readonly kind: 'login' | 'logout' | 'versions' | 'me' }
  /** `thin`: the listing gives only some fields. `folder`: only what lies in it. */
  | { readonly kind: 'list'; readonly type: SimulatedType; readonly thin?: string; readonly folder?: string }
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

/** `GET /dashboards` gives no more than this of a dashboard. */
const thinDashboard =
  'can,content_favorite_id,content_metadata_id,description,hidden,id,model,readonly,folder,title,user_id,slug';

const single: Readonly<Record<string, Route>> = {
  'POST /login': { kind: 'login', endpoint: 'POST /login' },
  'DELETE /logout': { kind: 'logout', endpoint: 'DELETE /logout' },
  'GET /versions': { kind: 'versions', endpoint: 'GET /versions' },
  'GET /user': { kind: 'me', endpoint: 'GET /user' },
  'GET /dashboards': { kind: 'list', endpoint: 'GET /dashboards', type: 'dashboards', thin: thinDashboard },
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
