// The typed call: a route literal selects the types of its parameters and of its response. No schema is loaded.
import type { z } from 'zod';
import type { Api } from './all.ts';
import type { Operation, OutputOf } from './operation.ts';

type Operations = { [Resource in keyof Api]: Api[Resource][keyof Api[Resource]] }[keyof Api];
type ByRoute = { [Op in Extract<Operations, Operation> as Op['route']]: Op };

/**
 * The route of an operation.
 *
 * @example const route: ApiRoute = 'GET /api/v1/ledger';
 */
export type ApiRoute = keyof ByRoute;

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
type PathParams<Route extends string> = Route extends `${string}:${infer Name}/${infer Rest}`
  ? { readonly [Key in Name]: string | number } & PathParams<Rest>
  : Route extends `${string}:${infer Name}`
    ? { readonly [Key in Name]: string | number }
    : Empty;

/**
 * Parameters, query, body and signal of an operation.
 *
 * @example const input: ApiInput<'GET /api/v1/ledger'> = { query: { state: 'open' } };
 */
export type ApiInput<Route extends ApiRoute> = Part<'params', PathParams<Route>> &
  Part<'query', SchemaInput<ByRoute[Route]['query']>> &
  Part<'body', SchemaInput<ByRoute[Route]['body']>> & { readonly signal?: AbortSignal };

type Args<Input> = Empty extends Input ? [input?: Input] : [input: Input];
/** The arguments after the route: optional where every part of the input is. */
export type ApiArguments<Route extends ApiRoute> = Args<ApiInput<Route>>;

/** One implementation per client, written inline: the CLI's connection, the dashboard's fetch, MCP's loopback, fetch of the library. */
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
  path.replaceAll(/:([A-Za-z_]+)/g, (_, name: string) => encodeURIComponent(String(params[name] ?? '')));
