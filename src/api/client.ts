// The typed call: a route literal selects the types of its parameters and of its response. No schema is loaded.
import type { z } from 'zod';
import type { artifactsApi } from './artifacts.ts';
import type { deploymentsApi, executionsApi } from './deployments.ts';
import type { entitiesApi } from './entities.ts';
import type { runsApi, sourcesApi, vaultsApi } from './extraction.ts';
import type { jobsApi } from './jobs.ts';
import type { keysApi } from './keys.ts';
import type { eventsApi, graphApi, searchApi } from './knowledge.ts';
import type { ledgerApi } from './ledger.ts';
import type { alertsApi, limitsApi } from './limits.ts';
import type { modelsApi } from './models.ts';
import type { completionsApi, promptsApi } from './completions.ts';
import type { Operation, OutputOf } from './operation.ts';
import type { organizationsApi } from './organizations.ts';
import type { dashboardApi, overviewApi } from './overview.ts';
import type { requestsApi } from './requests.ts';
import type { healthApi, serverApi, streamsApi } from './server.ts';
import type { foldersApi, spacesApi } from './spaces.ts';
import type { tenantApi } from './tenant.ts';

/** Every resource. Types only, so that clients load nothing. */
interface Api {
  readonly alerts: typeof alertsApi;
  readonly artifacts: typeof artifactsApi;
  readonly dashboard: typeof dashboardApi;
  readonly deployments: typeof deploymentsApi;
  readonly entities: typeof entitiesApi;
  readonly events: typeof eventsApi;
  readonly executions: typeof executionsApi;
  readonly folders: typeof foldersApi;
  readonly graph: typeof graphApi;
  readonly health: typeof healthApi;
  readonly jobs: typeof jobsApi;
  readonly keys: typeof keysApi;
  readonly ledger: typeof ledgerApi;
  readonly limits: typeof limitsApi;
  readonly models: typeof modelsApi;
  readonly completions: typeof completionsApi;
  readonly organizations: typeof organizationsApi;
  readonly overview: typeof overviewApi;
  readonly prompts: typeof promptsApi;
  readonly requests: typeof requestsApi;
  readonly runs: typeof runsApi;
  readonly search: typeof searchApi;
  readonly server: typeof serverApi;
  readonly sources: typeof sourcesApi;
  readonly spaces: typeof spacesApi;
  readonly streams: typeof streamsApi;
  readonly tenant: typeof tenantApi;
  readonly vaults: typeof vaultsApi;
}

type Operations = { [Resource in keyof Api]: Api[Resource][keyof Api[Resource]] }[keyof Api];
type ByRoute = { [Op in Extract<Operations, Operation> as Op['route']]: Op };

/**
 * The route of an operation.
 *
 * @example const route: ApiRoute = 'GET /api/v1/ledger';
 */
export type ApiRoute = keyof ByRoute;

type PathOf<Route> = Route extends `${string} ${infer Path}` ? Path : never;
/** The path of an operation, for streams and downloads, which return no JSON. */
export type ApiPath = PathOf<ApiRoute>;

/**
 * The response of an operation.
 *
 * @example type Page = ApiResponse<'GET /api/v1/ledger'>;
 */
export type ApiResponse<Route extends ApiRoute> = OutputOf<ByRoute[Route]>;

type SchemaInput<Schema> = Schema extends z.ZodType ? z.input<Schema> : never;
// oxlint-disable-next-line typescript/no-generated-empty-object-type -- what has no required field is meant
type Empty = Record<never, unknown>;
type IsOptional<T> = Empty extends T ? true : undefined extends T ? true : false;
type Part<Name extends string, T> =
  IsOptional<T> extends true ? { readonly [Key in Name]?: T } : { readonly [Key in Name]: T };
/** `:id` by its name, and the rest of a path (`*`) by `*`. */
type PathParams<Route extends string> = Route extends `${string}:${infer Name}/${infer Rest}`
  ? { readonly [Key in Name]: string | number } & PathParams<Rest>
  : Route extends `${string}:${infer Name}`
    ? { readonly [Key in Name]: string | number }
    : Route extends `${string}/*`
      ? { readonly '*': string }
      : Empty;
/** In a URL everything is text: a flag may be given as a boolean, a text or number as a number. */
type QueryValue<T> = unknown extends T
  ? string | number
  : T | ([Extract<T, 'true'>] extends [never] ? never : boolean) | (string extends T ? number : never);
type Query<T> = { [Name in keyof T]: QueryValue<T[Name]> };

/**
 * Parameters, query, body and signal of an operation.
 *
 * @example const input: ApiInput<'GET /api/v1/ledger'> = { query: { state: 'open' } };
 */
export type ApiInput<Route extends ApiRoute> = Part<'params', PathParams<Route>> &
  Part<'query', Query<SchemaInput<ByRoute[Route]['query']>>> &
  Part<'body', SchemaInput<ByRoute[Route]['body']>> & { readonly signal?: AbortSignal };

type Args<Input> = Empty extends Input ? [input?: Input] : [input: Input];
/** The arguments after the route: optional where every part of the input is. */
export type ApiArguments<Route extends ApiRoute> = Args<ApiInput<Route>>;

/**
 * Sends JSON calls. Implemented by `app/client/session.ts` (commands and MCP), `library/client.ts` and the dashboard's
 * `api/client.ts`. Streams and downloads return no JSON: they take an {@link ApiPath}.
 */
export interface ApiTransport {
  call<T>(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    options?: {
      readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
      readonly body?: unknown;
      readonly signal?: AbortSignal;
    },
  ): Promise<T>;
}

/**
 * Calls an operation.
 *
 * @example const { entries } = await callApi(client, 'GET /api/v1/ledger', { query: { state: 'open' } });
 */
export function callApi<Route extends ApiRoute>(
  transport: ApiTransport,
  route: Route,
  ...[input]: Args<ApiInput<Route>>
): Promise<ApiResponse<Route>> {
  const [method, path] = route.split(' ', 2) as ['GET', string];
  const { params, ...options } = (input ?? {}) as {
    readonly params?: Readonly<Record<string, string | number>>;
    readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
    readonly body?: unknown;
    readonly signal?: AbortSignal;
  };
  return transport.call<ApiResponse<Route>>(method, pathWith(path, params ?? {}), options);
}

/** `/api/v1/jobs/:id` with its parameters filled in and escaped. */
export const pathWith = (path: string, params: Readonly<Record<string, string | number>>): string =>
  path.replaceAll(pathParameter, (_, name: string) => encodeURIComponent(String(params[name] ?? '')));

/** `:id`, or the `*` at the end; the first group is its name. */
const pathParameter = /(?<=\/):?((?<=:)[A-Za-z_]+|\*$)/g;

/** Names of the parameters in a path. */
export const pathParameters = (path: string): readonly string[] =>
  Array.from(path.matchAll(pathParameter), ([, name = '']) => name);
