/*
The definition of an API operation: its route, its schemas and who may call it, written down once.
Route, OpenAPI document, typed client, command and MCP tool all derive from it.

To add an operation:
1. `api/<resource>.ts`: add it to the resource's object, for example
   `list: operation('GET /api/v1/widgets', { id: 'widgets.list', summary: 'List widgets', output: Widgets })`.
   A new resource is also added to `Api` in `api/client.ts`.
2. `http/routes/<domain>.ts`: add the handler under the same name to the `implement` call of the resource. It receives
   parsed input and returns domain objects, both in camelCase; `toWire` maps names and dates by the schema. A new file is
   added to `routes` in `http/server.ts`.
3. Command: `commandFor(group, widgetsApi.list, { name: 'list', examples, print })` in `cli/commands/`. A new
   group is added to `commandGroups` in `cli/program.ts`.
   Without a command: its reason in `cli/operations.test.ts`.
4. MCP tool, if a model needs it: `toolFor(widgetsApi.list, { name: 'list_widgets', title, description })` in
   `mcp/*-tools.ts`, its name in the list at the end of that file and in docs/guide/mcp.md, and in `test/mcp/mcp.test.ts`
   among the listed tools and with attempts to read data of another organization (`tries`).
5. `npm run docs`, then `npm test -- http-access test/mcp src/cli`: they fail for a route without a row about its access, a
   tool that is not listed, and an operation without a command or reason.

Contracts are loaded by commands that must start fast: they import zod and type-only domain types, nothing else.
*/
import { z } from 'zod';
import { idParams } from './fields.ts';

/**
 * `public`: anyone. `admin`: the admin token. `organization`: a key of an organization. `gateway`: a gateway key or the
 * admin token. `tenant`: a key of an organization, for its own data, or the admin token.
 */
export type CallerAccess = 'public' | 'admin' | 'organization' | 'gateway' | 'tenant';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type RouteText = `${Method} /${string}`;

type Shape = z.ZodType;

export interface OperationSpec<Params extends Shape, Query extends Shape, Body extends Shape, Output> {
  /** `<resource>.<verb>`: operationId, audit action, change event and dashboard cache key. */
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** Group in the OpenAPI document; default: the part of the path after /api/v1, else the resource of the id. */
  readonly tag?: string;
  /** Default: admin. */
  readonly access?: CallerAccess;
  /** Default of a path with `:id`: a UUID. */
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  readonly headers?: Shape;
  /** Body of the successful response. */
  readonly output: Output;
  /** Default: 200. */
  readonly status?: number;
  /** Responses with further statuses, for example 201 beside 200. */
  readonly otherResponses?: Readonly<Record<number, z.ZodType>>;
  /** Replaces the usual error shape where a client outside demands another. */
  readonly errors?: Readonly<Record<string, z.ZodType>>;
  /** False: no audit row and no change event. Reads never write one. */
  readonly audit?: false;
  /** The response stays open: it has no time limit and ends when the server drains. */
  readonly isStream?: boolean;
  /** Fields of the body that may contain U+0000 and unpaired surrogates. */
  readonly anyTextIn?: readonly string[] | 'everywhere';
  /** Probes are served until the very end. */
  readonly isServedWhileDraining?: boolean;
}

/** A response that is not JSON: the handler writes it. */
export interface RawOutput {
  readonly description: string;
  readonly content: Readonly<Record<string, { readonly schema: z.ZodType }>>;
}

export interface Operation<
  Route extends RouteText = RouteText,
  Params extends Shape = Shape,
  Query extends Shape = Shape,
  Body extends Shape = Shape,
  Output extends z.ZodType | RawOutput = z.ZodType | RawOutput,
> extends OperationSpec<Params, Query, Body, Output> {
  readonly route: Route;
  readonly method: Method;
  readonly path: string;
  readonly tag: string;
  readonly access: CallerAccess;
  readonly query: Query;
  readonly body: Body;
  readonly status: number;
}

// oxlint-disable-next-line typescript/no-generated-empty-object-type -- an object without fields is meant
type Nothing = z.ZodObject<Record<never, never>, z.core.$strict>;
type NoBody = z.ZodOptional<z.ZodNullable<Nothing>>;

type DefaultParams<Route extends RouteText> = {
  readonly id: typeof idParams;
  readonly none: Nothing;
}[Route extends `${string}/:id${string}` ? 'id' : 'none'];

/** `/jobs/:id/retry`: the id of a job. */
function idParamsOf(path: string): typeof idParams | undefined {
  const resource = /([a-z]+)\/:id/.exec(path)?.[1];
  if (resource === undefined) return undefined;
  const noun = resource === 'ledger' ? 'ledger entry' : resource.replace(/ies$/, 'y').replace(/s$/, '');
  return z.object({ id: idParams.shape.id.describe(`Id of the ${noun}.`) });
}

const nothing: Nothing = z.strictObject({});
/** Probes and files outside the API ignore unknown parameters. */
const anything = z.object({});
/** An empty object counts as no body. */
const noBody: NoBody = nothing.nullish();

/**
 * Defines an operation. Query parameters and bodies that it does not declare are rejected, never ignored: a misplaced
 * `space` would select another space than the caller meant.
 *
 * @example operation('GET /api/v1/jobs/:id', { id: 'jobs.get', summary: 'Get a job', output: Job })
 */
export function operation<
  Route extends RouteText,
  Output extends z.ZodType | RawOutput,
  Params extends Shape = DefaultParams<Route>,
  Query extends Shape = Nothing,
  Body extends Shape = NoBody,
>(
  route: Route,
  spec: OperationSpec<Params, Query, Body, Output>,
): Operation<Route, Params, Query, Body, Output> {
  const [method, path] = route.split(' ', 2) as [Method, string];
  return {
    ...spec,
    route,
    method,
    path,
    tag: spec.tag ?? /^\/api\/v1\/([a-z]+)/.exec(path)?.[1] ?? spec.id.replace(/\..*/, ''),
    access: spec.access ?? 'admin',
    params: spec.params ?? (idParamsOf(path) as unknown as Params | undefined),
    query: spec.query ?? ((path.startsWith('/api/v1/') ? nothing : anything) as unknown as Query),
    body: spec.body ?? (noBody as unknown as Body),
    status: spec.status ?? 200,
  };
}

/** The operations of one resource. */
export type ResourceApi = Readonly<Record<string, Operation>>;

export type OutputOf<Op extends Operation> = Op['output'] extends z.ZodType ? z.output<Op['output']> : never;
