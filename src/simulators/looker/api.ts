// The API without HTTP: the response to a call, with faults and rate limits applied.
import type { Clock, IdSource } from '../../core/index.ts';
import { seededIds, seededRandom } from '../../core/index.ts';
import type { LookerContent } from './content.ts';
import type { ListingQuery, Route } from './requests.ts';
import { findRoute, readListingQuery } from './requests.ts';
import type { ApiResponse, Fault } from './responses.ts';
import {
  failed,
  Faults,
  invalid,
  json,
  malformed,
  pageResponse,
  permanentFailure,
  rateLimited,
  without,
} from './responses.ts';
import type { LookerSimulatorStats, SimulatorBehavior } from './types.ts';

export interface ApiCall {
  readonly method: string;
  /** With the query. */
  readonly address: URL;
  readonly authorization: string | undefined;
  /** Read only for a login. */
  readonly readBody: () => Promise<string>;
}

/** A response, whole or cut off in the middle, or none. */
export type Reply = { readonly delayMs: number } & (
  | { readonly delivery: 'whole' | 'truncated'; readonly response: ApiResponse }
  | { readonly delivery: 'reset' | 'hang' }
);

type ContentRoute = Extract<Route, { kind: 'list' | 'item' }>;

export interface LookerApiDeps {
  readonly content: LookerContent;
  readonly tokens: Tokens;
  readonly clock: Clock;
  readonly seed: number;
  readonly clientId: string;
  readonly clientSecret: string;
}

const apiPath = '/api/4.0';
/** Calls that rate limits do not cover. */
const free = new Set<Route['kind']>(['login', 'logout', 'versions']);

export class LookerApi {
  readonly #deps: LookerApiDeps;
  #behavior: SimulatorBehavior;
  stats = new CallStats();
  #limits = new RateLimits();
  #faults: Faults;

  constructor(deps: LookerApiDeps, behavior: SimulatorBehavior) {
    this.#deps = deps;
    this.#behavior = behavior;
    this.#faults = new Faults(deps.seed);
  }

  configure(behavior: Partial<SimulatorBehavior>): void {
    this.#behavior = { ...this.#behavior, ...behavior };
  }

  reset(): void {
    this.stats = new CallStats();
    this.#limits = new RateLimits();
    this.#faults = new Faults(this.#deps.seed);
  }

  async handle(call: ApiCall): Promise<Reply> {
    const { pathname } = call.address;
    const path = pathname.startsWith(`${apiPath}/`) ? pathname.slice(apiPath.length) : '';
    const route = findRoute(call.method, pathname === '/versions' ? pathname : path);
    const now = this.#deps.clock.monotonic();
    const isCovered = route !== undefined && !free.has(route.kind);
    this.stats.arrived(route?.endpoint ?? `${call.method} (unknown)`, isCovered, now);
    const whole = (response: ApiResponse): Reply => ({
      delivery: 'whole',
      response,
      delayMs: this.#behavior.latencyMs,
    });
    if (!route) return whole(failed(404));
    if (route.kind === 'versions') return whole(json(versionsOf(call.address.origin)));
    if (route.kind === 'login') return this.#loginReply(call);
    const waitMs = isCovered ? this.#limits.admit(this.#behavior.rateLimits, now) : 0;
    if (waitMs > 0) return whole(this.#rateLimited(waitMs));
    const token = this.#deps.tokens.valid(call.authorization);
    if (token === null) return whole(failed(401));
    if (route.kind === 'logout') {
      this.#deps.tokens.revoke(token);
      return whole({ status: 204, body: Buffer.alloc(0) });
    }
    return 'type' in route ? this.#content(call, route, token) : whole(json(serviceAccount));
  }

  async #loginReply(call: ApiCall): Promise<Reply> {
    const fault = this.#faults.ofLogin(this.#behavior.faults);
    const response = (fault && this.#faultResponse(fault, null)) ?? (await this.#login(call));
    return this.#delivered(fault, response, false);
  }

  /** The response with the fault applied. */
  #delivered(fault: Fault | null, right: ApiResponse, isList: boolean): Reply {
    const delayMs = this.#behavior.latencyMs + (fault?.name === 'slow' ? fault.ms : 0);
    switch (fault?.name) {
      case 'hang':
      case 'reset':
        return { delivery: fault.name, delayMs };
      case 'truncated':
        return { delivery: 'truncated', response: right, delayMs };
      case 'malformed':
        return { delivery: 'whole', response: malformed(right, fault.kind, isList), delayMs };
      default:
        return { delivery: 'whole', response: right, delayMs };
    }
  }

  async #login({ address, readBody }: ApiCall): Promise<ApiResponse> {
    const form = new URLSearchParams(await readBody());
    const given = (name: string) => form.get(name) ?? address.searchParams.get(name);
    const { clientId, clientSecret, tokens } = this.#deps;
    // Looker responds with 404 to wrong credentials; 401 is not documented here.
    if (given('client_id') !== clientId || given('client_secret') !== clientSecret) return failed(404);
    const { token, expiresInSeconds } = tokens.grant();
    return json({
      access_token: token,
      token_type: 'Bearer',
      expires_in: expiresInSeconds,
      refresh_token: null,
    });
  }

  #rateLimited(waitMs: number): ApiResponse {
    return rateLimited(waitMs, this.#behavior.retryAfter, this.#deps.clock.now());
  }

  #content(call: ApiCall, route: ContentRoute, token: string): Reply {
    const { address } = call;
    const { latencyMs, faults, failures } = this.#behavior;
    const read = route.kind === 'list' ? readListingQuery(route.type, parametersOf(route, address)) : null;
    if (read && 'problems' in read)
      return { delivery: 'whole', response: invalid(read.problems), delayMs: latencyMs };
    const query = read?.query;
    const target = {
      type: route.type,
      ...(query ? { query } : {}),
      ...(route.kind === 'item' ? { id: route.id } : {}),
    };
    const failure = permanentFailure(target, failures);
    if (failure) return { delivery: 'whole', response: failed(failure.status ?? 500), delayMs: latencyMs };
    const fault = this.#faults.of(address.pathname + address.search, faults);
    const faulty = fault && this.#faultResponse(fault, token);
    const right = faulty ?? (query ? this.#list(route, query, address, fault) : this.#item(route, address));
    return this.#delivered(fault, fault ? withoutField(right, fault, route) : right, query !== undefined);
  }

  /** The response of faults that need no content. */
  #faultResponse({ name, ms }: Fault, token: string | null): ApiResponse | null {
    switch (name) {
      case '429':
        return this.#rateLimited(ms);
      case '500':
      case '503':
        return failed(Number(name));
      case 'expired-token':
        if (token !== null) this.#deps.tokens.revoke(token);
        return failed(401);
      default:
        return null;
    }
  }

  #list({ type }: ContentRoute, query: ListingQuery, address: URL, fault: Fault | null): ApiResponse {
    const { content } = this.#deps;
    const listing = content.list(type, query);
    const extra =
      fault?.name === 'duplicate'
        ? content.previousItem(type, query)
        : fault?.name === 'no-id'
          ? itemWithoutId
          : undefined;
    const bytes = extra ? withExtra(listing.bytes, extra) : listing.bytes;
    const place = { url: address.origin + address.pathname, hasTotal: this.#behavior.hasTotal };
    return pageResponse({ ...listing, bytes }, query, place);
  }

  #item(route: ContentRoute, { searchParams }: URL): ApiResponse {
    if (route.kind !== 'item') return failed(404);
    const body = this.#deps.content.item(route.type, route.id, searchParams.get('fields') ?? '');
    return body ? { status: 200, body } : failed(404);
  }
}

/** The response without the field that the fault removes from an item. */
function withoutField(right: ApiResponse, { name }: Fault, { type }: ContentRoute): ApiResponse {
  if (name === 'lost-id')
    return without(right, type === 'lookml_models' || type === 'explores' ? ['name'] : ['id']);
  return name === 'lost-explores' && type === 'lookml_models' ? without(right, ['explores'], null) : right;
}

/** The query with what the path implies. */
function parametersOf(route: ContentRoute, { searchParams }: URL): URLSearchParams {
  if (route.kind !== 'list') return searchParams;
  if (route.listFields !== undefined && !searchParams.has('fields'))
    searchParams.set('fields', route.listFields);
  if (route.folder !== undefined) searchParams.set('parent_id', route.folder);
  // Without all_users the caller gets its own plans: none.
  if (
    route.type === 'scheduled_plans' &&
    searchParams.get('all_users') !== 'true' &&
    !searchParams.has('user_id')
  )
    searchParams.set('user_id', serviceAccount.id);
  return searchParams;
}

const itemWithoutId = Buffer.from(JSON.stringify({ title: 'An item without an id', deleted: false }));

/** The page with one more item in front. An empty page stays empty: it is past the end. */
function withExtra(page: Buffer, extra: Buffer): Buffer {
  const opening = Buffer.from('[');
  if (page.length <= '[]'.length) return page;
  return Buffer.concat([opening, extra, Buffer.from(','), page.subarray(opening.length)]);
}

const serviceAccount = {
  id: '1000001',
  first_name: 'Extraction',
  last_name: 'Service',
  display_name: 'Extraction Service',
  email: 'extraction@acme.example',
  is_disabled: false,
  is_service_account: true,
};

function versionsOf(origin: string): object {
  const version = (number: string, status: string) => ({
    version: number,
    full_version: `${number}.26.0`,
    status,
    swagger_url: `${origin}${apiPath}/swagger.json`,
  });
  return {
    looker_release_version: '26.0.0',
    current_version: version('4.0', 'current'),
    supported_versions: [version('4.0', 'current')],
    api_server_url: origin,
    web_server_url: origin,
  };
}

/* ---- counting ---- */

/** Counts exactly what happened less than `spanMs` ago; times must not decrease. */
export class SlidingWindow {
  readonly #spanMs: number;
  #times: number[] = [];
  #first = 0;

  constructor(spanMs: number) {
    this.#spanMs = spanMs;
  }

  count(now: number): number {
    while (this.#first < this.#times.length && (this.#times[this.#first] ?? 0) <= now - this.#spanMs)
      this.#first += 1;
    if (this.#first > 4_096 && this.#first * 2 > this.#times.length) {
      this.#times = this.#times.slice(this.#first);
      this.#first = 0;
    }
    return this.#times.length - this.#first;
  }

  add(now: number): void {
    this.#times.push(now);
  }

  /** When the count falls below `limit`, if nothing more happens. */
  below(limit: number, now: number): number {
    return this.count(now) < limit ? now : (this.#times[this.#times.length - limit] ?? now) + this.#spanMs;
  }
}

export class CallStats {
  readonly #calls = new Map<string, number>();
  readonly #responded = new Map<string, number>();
  readonly #second = new SlidingWindow(1_000);
  readonly #minute = new SlidingWindow(60_000);
  #total = 0;
  #maxPerSecond = 0;
  #maxPerMinute = 0;

  /** `isCovered`: rate limits count this call. */
  arrived(endpoint: string, isCovered: boolean, now: number): void {
    this.#total += 1;
    increase(this.#calls, endpoint);
    if (!isCovered) return;
    this.#second.add(now);
    this.#minute.add(now);
    this.#maxPerSecond = Math.max(this.#maxPerSecond, this.#second.count(now));
    this.#maxPerMinute = Math.max(this.#maxPerMinute, this.#minute.count(now));
  }

  countResponse(status: number | 'none'): void {
    increase(this.#responded, String(status));
  }

  report(): LookerSimulatorStats {
    return {
      calls: sorted(this.#calls),
      total: this.#total,
      maxPerSecond: this.#maxPerSecond,
      maxPerMinute: this.#maxPerMinute,
      responded: sorted(this.#responded),
    };
  }
}

function increase(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function sorted(counts: ReadonlyMap<string, number>): Readonly<Record<string, number>> {
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Rate limits as a server enforces them: on arrival, in sliding windows, over admitted calls. */
export class RateLimits {
  readonly #second = new SlidingWindow(1_000);
  readonly #minute = new SlidingWindow(60_000);

  /** 0 when the call is admitted and counted; otherwise the milliseconds until one can be. */
  admit({ perSecond, perMinute }: SimulatorBehavior['rateLimits'], now: number): number {
    const free = Math.max(
      perSecond === undefined ? now : this.#second.below(perSecond, now),
      perMinute === undefined ? now : this.#minute.below(perMinute, now),
    );
    if (free > now) return free - now;
    this.#second.add(now);
    this.#minute.add(now);
    // Drops old times, which otherwise happens only where there is a limit.
    this.#second.count(now);
    this.#minute.count(now);
    return 0;
  }
}

/** Access tokens: granted at login, rejected once they have expired. */
export class Tokens {
  readonly #clock: Clock;
  readonly #lifetimeMs: number;
  readonly #ids: IdSource;
  readonly #expiresAt = new Map<string, number>();

  constructor(settings: { readonly clock: Clock; readonly lifetimeMs: number; readonly seed: number }) {
    this.#clock = settings.clock;
    this.#lifetimeMs = settings.lifetimeMs;
    this.#ids = seededIds(seededRandom(settings.seed), () => settings.clock.now());
  }

  grant(): { readonly token: string; readonly expiresInSeconds: number } {
    const now = this.#clock.monotonic();
    for (const [old, end] of this.#expiresAt) if (end <= now) this.#expiresAt.delete(old);
    const token = this.#ids.token(30);
    this.#expiresAt.set(token, now + this.#lifetimeMs);
    return { token, expiresInSeconds: Math.floor(this.#lifetimeMs / 1_000) };
  }

  /** The token in `token X` or `Bearer X`, if it is valid now. */
  valid(authorization: string | undefined): string | null {
    const token = /^(?:token|bearer)\s+(\S+)$/i.exec(authorization ?? '')?.[1];
    const end = token === undefined ? undefined : this.#expiresAt.get(token);
    return token !== undefined && end !== undefined && end > this.#clock.monotonic() ? token : null;
  }

  revoke(token: string): void {
    this.#expiresAt.delete(token);
  }

  revokeAll(): void {
    this.#expiresAt.clear();
  }
}
