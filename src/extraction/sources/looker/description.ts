// Looker as a built-in description: its twelve content types through API 4.0.
import { ExtractionError } from '../../errors.ts';
import { limiterKey } from '../../rate-limiter.ts';
import type { ItemShape, ParentRule } from '../../types.ts';
import type { EndpointDescription, SourceDescription, TypeDescription } from '../description/schema.ts';
import { defaultEmptyWhen } from '../description/schema.ts';
import type { FolderFilter } from './folders.ts';
import { findFolders } from './folders.ts';

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

interface LookerEndpoint {
  readonly name: string;
  readonly path: string;
  /** Absent: one item, without pagination. */
  readonly query?: Readonly<Record<string, string>>;
  readonly shape?: ItemShape;
  readonly isListingOnly?: boolean;
}

interface LookerType {
  readonly name: LookerContentType;
  readonly shape: ItemShape;
  readonly endpoints: readonly LookerEndpoint[];
  readonly parent?: ParentRule;
  /** Its lists accept a `folder_id`. */
  readonly hasFolders?: boolean;
}

/** Without an order, pages overlap and leave gaps. */
const byId = { sorts: 'id' };
const list = { kind: 'list', path: [] } as const;
const single = { kind: 'single' } as const;

const content = {
  name: ['title'],
  owner: ['user_id'],
  folder: ['folder', 'id'],
  createdAt: ['created_at'],
  updatedAt: ['updated_at'],
} as const;
const named = { name: ['name'] } as const;

/** A type with one list whose items are stored. */
const listed = (
  name: LookerContentType,
  path: string,
  fields: Omit<ItemShape, 'items' | 'id'>,
  query: Readonly<Record<string, string>> = byId,
): LookerType => ({
  name,
  shape: { items: list, id: [['id']], ...fields },
  endpoints: [{ name: '', path, query }],
});

const types: readonly LookerType[] = [
  {
    name: 'dashboards',
    shape: { items: list, id: [['id']], ...content },
    endpoints: [
      { name: '', path: '/dashboards/search', query: byId },
      // The API document describes this response as an export (`dashboard_id`, `lookml`); servers return dashboards
      // whose id is `model::dashboard` (looker-open-source/sdk-codegen issue 1656).
      { name: 'lookml', path: '/dashboards/lookml/search', query: byId },
    ],
    hasFolders: true,
  },
  {
    // The list does not contain the query, so it only names the looks, which are requested one by one.
    name: 'looks',
    shape: { items: single, id: [['id']], ...content },
    endpoints: [
      {
        name: '',
        path: '/looks/search',
        query: { ...byId, fields: 'id' },
        shape: { items: list, id: [['id']] },
        isListingOnly: true,
      },
      { name: 'look', path: '/looks/{id}' },
    ],
    parent: { type: 'looks', keys: { id: ['id'] } },
    hasFolders: true,
  },
  {
    // This list has no `sorts`; the server orders it by name.
    name: 'lookml_models',
    shape: { items: list, id: [['name']], name: ['label'], folder: ['project_name'] },
    endpoints: [{ name: '', path: '/lookml_models', query: {} }],
  },
  {
    name: 'explores',
    shape: { items: single, id: [['model_name'], ['name']], name: ['label'], folder: ['model_name'] },
    endpoints: [{ name: '', path: '/lookml_models/{model}/explores/{explore}' }],
    parent: {
      type: 'lookml_models',
      itemsAt: ['explores'],
      keys: { explore: ['name'] },
      parentKeys: { model: ['name'] },
      hasChildrenAt: ['has_content'],
    },
  },
  listed('folders', '/folders/search', {
    ...named,
    owner: ['creator_id'],
    folder: ['parent_id'],
    createdAt: ['created_at'],
  }),
  listed('boards', '/boards/search', {
    name: ['title'],
    owner: ['user_id'],
    createdAt: ['created_at'],
    updatedAt: ['updated_at'],
  }),
  listed('users', '/users/search', { name: ['display_name'], folder: ['personal_folder_id'] }),
  listed('groups', '/groups/search', named),
  listed('roles', '/roles/search', named),
  listed('permission_sets', '/permission_sets/search', named),
  listed('model_sets', '/model_sets/search', named),
  listed(
    'scheduled_plans',
    '/scheduled_plans/search',
    { ...named, owner: ['user_id'], createdAt: ['created_at'], updatedAt: ['updated_at'] },
    { ...byId, all_users: 'true' },
  ),
];

function describe({ name, shape, endpoints, parent }: LookerType, scope?: string): TypeDescription {
  return {
    type: {
      name,
      number: lookerContentTypes[name],
      endpoints: endpoints.map(({ query, name: endpoint, shape: own, isListingOnly }) => ({
        name: endpoint,
        pagination: query ? 'offset' : 'single',
        shape: own,
        isListingOnly,
      })),
      shape,
      parent,
      scope,
    },
    endpoints: Object.fromEntries(
      endpoints.map(({ name: endpoint, path, query }): [string, EndpointDescription] => [
        endpoint,
        {
          path,
          query: query ?? {},
          pagination: query
            ? { type: 'offset', offset_param: 'offset', limit_param: 'limit', start: 0 }
            : { type: 'none' },
          totalHeader: 'x-total-count',
          emptyWhen: defaultEmptyWhen(query === undefined),
        },
      ]),
    ),
  };
}

/** The types of a Looker without a folder filter. */
export const lookerTypes: readonly TypeDescription[] = types.map((type) => describe(type));

/** Does --folders apply to this type? */
export const hasFolders = (name: string): boolean =>
  types.find((type) => type.name === name)?.hasFolders === true;

/** The same types restricted to these folders: each list once per folder. */
export function lookerTypesInFolders(folders: readonly string[]): readonly TypeDescription[] {
  return types.map((type) => {
    if (type.hasFolders !== true) return describe(type);
    const lists = type.endpoints.filter(({ query }) => query !== undefined);
    const inFolders = folders.flatMap((folder) =>
      lists.map((endpoint) => ({
        ...endpoint,
        name: endpoint.name === '' ? `folder-${folder}` : `${endpoint.name}-folder-${folder}`,
        query: { ...endpoint.query, folder_id: folder },
      })),
    );
    const others = type.endpoints.filter((endpoint) => !lists.includes(endpoint));
    return describe({ ...type, endpoints: [...inFolders, ...others] }, `folders ${folders.join(', ')}`);
  });
}

export interface LookerOptions {
  /** With or without `/api/4.0`. */
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Dashboards and looks of these folders only. */
  readonly folders?: FolderFilter;
}

/** Fails with EXTRACTION_SOURCE_INVALID for an invalid base URL. */
export function lookerDescription({
  baseUrl,
  clientId,
  clientSecret,
  folders,
}: LookerOptions): SourceDescription {
  const base = parseLookerUrl(baseUrl);
  const api = `${base}/api/4.0`;
  const labels = {
    server: `Looker at ${base}`,
    addressSetting: 'LOOKER_BASE_URL',
    credentialSettings: 'LOOKER_CLIENT_ID and LOOKER_CLIENT_SECRET',
  };
  const hasFilter = folders !== undefined && folders.ids.length > 0;
  return {
    name: `looker ${base}`,
    baseUrl: api,
    labels,
    headers: {},
    auth: {
      type: 'token',
      url: '/login',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ client_id: clientId, client_secret: clientSecret }).toString(),
      tokenPath: ['access_token'],
      expiresInPath: ['expires_in'],
      header: 'authorization',
      prefix: 'token ',
      isCredentialError,
    },
    types: lookerTypes,
    narrowTypes: hasFilter
      ? async (get, signal) =>
          lookerTypesInFolders(await findFolders(folders, { api, labels, get: (url) => get(url, signal) }))
      : undefined,
    secrets: [],
    limiterKey: limiterKey(new URL(base).host, clientId),
  };
}

/**
 * Looker rejects wrong credentials with 404 or 400 and its own error format; a 404 without that format is a server
 * without this API, and a 401 or 403 that is not JSON comes from a proxy.
 */
function isCredentialError(status: number, body: Readonly<Record<string, unknown>> | undefined): boolean {
  if (status === 401 || status === 403) return body !== undefined;
  const isLookerError = typeof body?.['message'] === 'string' && 'documentation_url' in body;
  return (status === 400 || status === 404 || status === 422) && isLookerError;
}

/**
 * The base URL (`https://acme.looker.com:19999`) of one with or without `/api/4.0`, trailing slash and port. Fails with
 * EXTRACTION_SOURCE_INVALID.
 */
export function parseLookerUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl.trim()) ? new URL(baseUrl.trim()) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw invalid('is not a web address; write it like https://acme.looker.com');
  if (url.username !== '' || url.password !== '')
    throw invalid('contains a user or password; set LOOKER_CLIENT_ID and LOOKER_CLIENT_SECRET instead');
  if (url.search !== '' || url.hash !== '')
    throw invalid('has a query or fragment; write it like https://acme.looker.com');
  const path = url.pathname.replace(/\/+$/, '').replace(/\/api(\/\d+\.\d+)?$/, '');
  return url.origin + path.replace(/\/+$/, '');
}

function invalid(problem: string): ExtractionError {
  return new ExtractionError('EXTRACTION_SOURCE_INVALID', `LOOKER_BASE_URL ${problem}.`);
}
