// What a simulated Looker can be told, and what it tells.
import { z } from 'zod';
import type { Clock } from '../../core/index.ts';

/** What the simulator holds: Looker's twelve content types, and LookML dashboards, which have a listing of their own. */
export const simulatedTypes = [
  'dashboards',
  'lookml_dashboards',
  'looks',
  'lookml_models',
  'explores',
  'folders',
  'boards',
  'users',
  'groups',
  'roles',
  'permission_sets',
  'model_sets',
  'scheduled_plans',
] as const;

export type SimulatedType = (typeof simulatedTypes)[number];

export type ItemCounts = Readonly<Partial<Record<SimulatedType, number>>>;

/**
 * Items that somebody has written, the first of their types: these fields take the place of generated ones. Fields that
 * the generated item does not have are left out, but for `dashboard_elements`; ids stay as they are generated. They are
 * not filled up to a size.
 */
export type WrittenItems = Readonly<
  Partial<Record<SimulatedType, readonly Readonly<Record<string, unknown>>[]>>
>;

/**
 * What may go wrong with a content call, or, with `login-` before it, with a login.
 * `429`, `500`, `503`: that answer. `slow`: the right answer, late. `hang`: none, until the caller leaves. `reset`: the
 * connection is reset before an answer. `truncated`: half of the body, then the connection closes. `malformed`: a whole
 * body that is not what was asked for, with 200: half of it, a web page, the text of an error, an object instead of a
 * list. `expired-token`: 401, and the token is gone for everybody who holds it. `duplicate`: the page also has the last
 * item of the page before it. `no-id`: the page also has an item without an id. `lost-id`: the first item of the page,
 * or the item, has lost its id. `lost-explores`: the first model of the page has `explores: null`.
 */
export const faultNames = [
  '429',
  '500',
  '503',
  'slow',
  'hang',
  'reset',
  'truncated',
  'malformed',
  'expired-token',
  'duplicate',
  'no-id',
  'lost-id',
  'lost-explores',
  'login-429',
  'login-500',
  'login-503',
  'login-slow',
  'login-hang',
  'login-reset',
  'login-truncated',
  'login-malformed',
] as const;

export type FaultName = (typeof faultNames)[number];

export interface FaultSetting {
  /** 0 to 1, for each call. Of several faults that would strike, the first in the order of `faultNames` does. */
  readonly probability: number;
  /** `slow`: how late; `429`: what Retry-After says. Default 1,000. */
  readonly ms?: number;
}

/** Calls that always fail: pages that cover the position `offset`, or the item of this `id` asked for by itself. */
export interface PermanentFailure {
  readonly type: SimulatedType;
  readonly offset?: number;
  readonly id?: string;
  /** Default 500. */
  readonly status?: number;
}

/** How a 429 says when to come back: whole seconds, an HTTP date, `retry-after-ms`, or not at all. */
export const retryAfterStyles = ['seconds', 'date', 'milliseconds', 'none'] as const;

export type RetryAfterStyle = (typeof retryAfterStyles)[number];

/** What may be changed while it runs. */
export interface SimulatorBehavior {
  /** Counted on arrival, in exact sliding windows; login, logout and versions are free. Default: unlimited. */
  readonly rateLimits: { readonly perMinute?: number; readonly perSecond?: number };
  readonly retryAfter: RetryAfterStyle;
  readonly faults: Readonly<Partial<Record<FaultName, FaultSetting>>>;
  readonly failures: readonly PermanentFailure[];
  /** Every API answer comes this much later. */
  readonly latencyMs: number;
  /** Whether answers to calls with a limit carry X-Total-Count. */
  readonly hasTotal: boolean;
}

export interface LookerSimulatorOptions extends Partial<SimulatorBehavior> {
  /** 0, the default, takes any free port. */
  readonly port?: number;
  /** Types that are not named have no items. */
  readonly items?: ItemCounts;
  /** There are at least as many items of a type as are written. */
  readonly written?: WrittenItems;
  /** The most items in one answer, whatever the caller asks for. Default: no bound. */
  readonly pageLimit?: number;
  /** Items are filled up to exactly this size, if they are not larger by nature. */
  readonly itemBytes?: number;
  /** How many bytes of pages are kept to be sent again. Default 64 MB. */
  readonly cacheBytes?: number;
  /** The same seed gives the same content and the same faults. Default 1. */
  readonly seed?: number;
  readonly tokenLifetimeMs?: number;
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** For windows, tokens, latency and slowness. Default: the system's. */
  readonly clock?: Clock;
}

export interface LookerSimulatorStats {
  /** By endpoint, as the API's documentation names it: `GET /looks/{look_id}`. */
  readonly calls: Readonly<Record<string, number>>;
  /** All calls of the API, login and refused ones too; calls of `/__…` are not counted anywhere. */
  readonly total: number;
  /** The most arrivals within any sliding second, of calls that rate limits cover (refused ones too). */
  readonly maxPerSecond: number;
  readonly maxPerMinute: number;
  /** By status. Calls that got no status (hang, reset) are under `none`. */
  readonly answered: Readonly<Record<string, number>>;
}

/** Ids, or how many: then they are taken evenly from the whole type. */
export type Chosen = readonly string[] | number;

export interface ContentChange {
  readonly type: SimulatedType;
  /** These get new content (and a later `updated_at` where the type has one). */
  readonly change?: Chosen;
  /** These keep their content and get other bytes: the order of keys changes. */
  readonly rewrite?: Chosen;
  readonly delete?: Chosen;
  /** How many new items. */
  readonly add?: number;
  /** By id: from now on these fields take the place of those that are there, as in `WrittenItems`. */
  readonly write?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** The ids that a change touched. */
export interface ContentChanged {
  readonly changed: readonly string[];
  readonly rewritten: readonly string[];
  readonly deleted: readonly string[];
  readonly added: readonly string[];
}

export interface LookerSimulator {
  /** `http://127.0.0.1:PORT`; the API is below `/api/4.0`. */
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  stats(): LookerSimulatorStats;
  /** Forgets calls, attempts and windows; content and tokens stay. */
  reset(): void;
  change(change: ContentChange): ContentChanged;
  configure(behavior: Partial<SimulatorBehavior>): void;
  /** Every token is refused from now on. */
  expireTokens(): void;
  /** Also ends calls that hang. */
  stop(): Promise<void>;
}

// Checks what comes over the control endpoints and from callers without types.

const count = z.int().min(0).max(10_000_000);
const milliseconds = z.number().min(0).max(3_600_000);
const limit = z.int().min(1).max(1_000_000).optional();
const chosen = z.union([z.array(z.string()), count]);
const type = z.enum(simulatedTypes);

const contentChange = z.strictObject({
  type,
  change: chosen.optional(),
  rewrite: chosen.optional(),
  delete: chosen.optional(),
  add: count.optional(),
  write: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
});

const behavior = z
  .strictObject({
    rateLimits: z.strictObject({ perMinute: limit, perSecond: limit }),
    retryAfter: z.enum(retryAfterStyles),
    faults: z.partialRecord(
      z.enum(faultNames),
      z.strictObject({ probability: z.number().min(0).max(1), ms: milliseconds.optional() }),
    ),
    failures: z.array(
      z.strictObject({
        type,
        offset: count.optional(),
        id: z.string().optional(),
        status: z.int().min(400).max(599).optional(),
      }),
    ),
    latencyMs: milliseconds,
    hasTotal: z.boolean(),
  })
  .partial();

/** The change, or a RangeError that names what is wrong with it. */
export const checkChange = (value: unknown): ContentChange => check(contentChange, value);

/** The behavior, or a RangeError that names what is wrong with it. */
export const checkBehavior = (value: unknown): Partial<SimulatorBehavior> => check(behavior, value);

function check<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map(
    ({ path, message }) => `${path.length === 0 ? 'the body' : path.join('.')}: ${message}`,
  );
  throw new RangeError(problems.join('; '));
}
