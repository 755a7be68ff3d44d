// Options, behavior and interface of the simulated Looker.
import { z } from 'zod';
import type { Clock } from '../../core/index.ts';
import type { Frozen } from '../frozen.ts';

/** Looker's twelve content types, and LookML dashboards, which have their own list. */
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
 * Fields that replace generated ones, for the first items of a type. Fields that the generated item does not have are
 * ignored, except `dashboard_elements`; ids stay generated. These items are not filled up to a size.
 */
export type WrittenItems = Readonly<
  Partial<Record<SimulatedType, readonly Readonly<Record<string, unknown>>[]>>
>;

/**
 * Faults of content calls, or of logins with the prefix `login-`. `429`, `500`, `503`: that status. `slow`: the right
 * response, late. `hang`: none until the caller disconnects. `reset`: the connection is reset before a response.
 * `truncated`: half of the body, then the connection closes. `malformed`: another body with status 200: half of it, a web
 * page, the text of an error, an object instead of a list. `expired-token`: 401, and the token is revoked. `duplicate`:
 * the page also has the last item of the page before it. `no-id`: the page also has an item without an id. `lost-id`: the
 * first item of the page, or the item, has no id. `lost-explores`: the first model of the page has `explores: null`.
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

/** How a 429 sends its retry hint: whole seconds, an HTTP date, `retry-after-ms`, or not at all. */
export const retryAfterStyles = ['seconds', 'date', 'milliseconds', 'none'] as const;

export type RetryAfterStyle = (typeof retryAfterStyles)[number];

const count = z.int().min(0).max(10_000_000);
const milliseconds = z.number().min(0).max(3_600_000);
const limit = z.int().min(1).max(1_000_000).optional();
const type = z.enum(simulatedTypes);

const faultSetting = z.strictObject({
  /** For each call. If several faults would occur, only the first in the order of `faultNames` does. */
  probability: z.number().min(0).max(1),
  /** `slow`: the delay; `429`: the value of Retry-After. Default 1,000. */
  ms: milliseconds.optional(),
});

export type FaultSetting = Frozen<z.output<typeof faultSetting>>;

/** Calls that always fail: pages that contain the position `offset`, or the item with this `id` requested alone. */
const permanentFailure = z.strictObject({
  type,
  offset: count.optional(),
  id: z.string().optional(),
  /** Default 500. */
  status: z.int().min(400).max(599).optional(),
});

export type PermanentFailure = Frozen<z.output<typeof permanentFailure>>;

const behavior = z.strictObject({
  /** Counted on arrival, in exact sliding windows; login, logout and versions are free. Default: unlimited. */
  rateLimits: z.strictObject({ perMinute: limit, perSecond: limit }),
  retryAfter: z.enum(retryAfterStyles),
  faults: z.partialRecord(z.enum(faultNames), faultSetting),
  failures: z.array(permanentFailure),
  /** Added to every API response. */
  latencyMs: milliseconds,
  /** Whether responses to calls with a limit have X-Total-Count. */
  hasTotal: z.boolean(),
});

/** Can be changed while the simulator runs. */
export type SimulatorBehavior = Frozen<z.output<typeof behavior>>;

/** Ids, or a number: then items are selected evenly from the whole type. */
const chosen = z.union([z.array(z.string()), count]);

export type Chosen = Frozen<z.output<typeof chosen>>;

const contentChange = z.strictObject({
  type,
  /** These get new content (and a later `updated_at` where the type has one). */
  change: chosen.optional(),
  /** These keep their content and get other bytes: the order of keys changes. */
  rewrite: chosen.optional(),
  delete: chosen.optional(),
  /** How many new items. */
  add: count.optional(),
  /** By id: these fields replace existing ones, as in `WrittenItems`. */
  write: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
});

export type ContentChange = Frozen<z.output<typeof contentChange>>;

export interface LookerSimulatorOptions extends Partial<SimulatorBehavior> {
  /** 0, the default, takes any free port. */
  readonly port?: number;
  /** Other types have no items. */
  readonly items?: ItemCounts;
  /** A type has at least as many items as are written. */
  readonly written?: WrittenItems;
  /** The most items in one response, whatever limit the caller sends. Default: unlimited. */
  readonly pageLimit?: number;
  /** Items are filled up to exactly this size, if they are not larger already. */
  readonly itemBytes?: number;
  /** Size of the page cache. Default 64 MB. */
  readonly cacheBytes?: number;
  /** The same seed produces the same content and the same faults. Default 1. */
  readonly seed?: number;
  readonly tokenLifetimeMs?: number;
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** For windows, tokens, latency and slowness. Default: the system's. */
  readonly clock?: Clock;
}

export interface LookerSimulatorStats {
  /** By endpoint, as in Looker's documentation: `GET /looks/{look_id}`. */
  readonly calls: Readonly<Record<string, number>>;
  /** All calls of the API, with logins and rejected ones, without `/__…`. */
  readonly total: number;
  /** The most arrivals within any sliding second, of calls that rate limits cover, with rejected ones. */
  readonly maxPerSecond: number;
  readonly maxPerMinute: number;
  /** By status; `none` for calls without one (hang, reset). */
  readonly responded: Readonly<Record<string, number>>;
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
  /** Resets calls, attempts and windows; content and tokens stay. */
  reset(): void;
  change(change: ContentChange): ContentChanged;
  configure(behavior: Partial<SimulatorBehavior>): void;
  /** Revokes every token. */
  expireTokens(): void;
  /** Also ends calls that hang. */
  stop(): Promise<void>;
}

/** Fails with a RangeError that names every problem. */
export const checkChange = (value: unknown): ContentChange => check(contentChange, value);

export const checkBehavior = (value: unknown): Partial<SimulatorBehavior> => check(behavior.partial(), value);

function check<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map(
    ({ path, message }) => `${path.length === 0 ? 'the body' : path.join('.')}: ${message}`,
  );
  throw new RangeError(problems.join('; '));
}
