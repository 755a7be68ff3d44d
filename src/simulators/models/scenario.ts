// Scenarios: the simulated providers, their models, and how each behaves.
import { z } from 'zod';
import { CoreError } from '../../core/index.ts';
import type { Frozen } from '../frozen.ts';
import { hintStyles } from './rate-limit-responses.ts';

/**
 * Three digits respond with that status. `limit-500` is a 500 with a rate-limit message. `hang` never responds,
 * `reset` resets the connection, `slow` waits `ms` before the first byte, `cut` ends a stream or body in the middle,
 * `cut-early` before any content, `malformed` sends invalid JSON, `empty` a response without content, `refused` one
 * emptied by the content filter, `error-event` a stream that starts with an error, `silent` a stream that stalls.
 */
export const faultNames = [
  '400',
  '401',
  '402',
  '403',
  '404',
  '422',
  '429',
  '500',
  '502',
  '503',
  '504',
  'limit-500',
  'context',
  'hang',
  'reset',
  'slow',
  'cut',
  'cut-early',
  'malformed',
  'empty',
  'refused',
  'error-event',
  'silent',
] as const;

const name = z.string().regex(/^[\w.@:-]+(\/[\w.@:-]+)*$/, 'letters, digits and . _ - @ : / only');
const milliseconds = z.number().min(0).max(3_600_000);
const limit = z.int().min(0).max(1e12).optional();

const oneOf = <const Names extends readonly string[]>(names: Names) =>
  z.enum(names, {
    error: ({ input }) =>
      `unknown value ${JSON.stringify(input) ?? 'undefined'}; allowed: ${names.join(', ')}`,
  });

const fault = z.strictObject({
  // YAML parses 429 as a number.
  fault: z.preprocess((value) => (typeof value === 'number' ? String(value) : value), oneOf(faultNames)),
  /** For 429, limit-500 and 503. */
  hint: oneOf(hintStyles).optional(),
  /** Delay that the hint names. */
  seconds: z.number().min(0).max(2_678_400).optional(),
  /** Delay of `slow`. */
  ms: milliseconds.optional(),
});

export type Fault = Frozen<z.output<typeof fault>>;

const scriptedFault = fault.extend({ times: z.int().min(1).max(1_000_000).optional() });

/** One step of a script: `ok`, or a fault for `times` calls. */
export type Step = 'ok' | Frozen<z.output<typeof scriptedFault>>;

/** Not a union: its errors would not name the field. */
const step = z.unknown().transform((value, context): Step => {
  if (value === 'ok') return 'ok';
  const parsed = scriptedFault.safeParse(typeof value === 'object' ? value : { fault: value });
  if (parsed.success) return parsed.data;
  for (const { message, path } of parsed.error.issues)
    context.addIssue({ code: 'custom', message, path: [...path] });
  return z.NEVER;
});

/** A name that a simulated model recognizes in documents. */
const knownName = z.strictObject({
  /** The full name. */
  name: z.string().min(2),
  /** Other spellings of it. */
  aliases: z.array(z.string().min(2)).default([]),
  type: z.enum(['person', 'organization', 'project', 'object', 'place', 'other']),
  role: z.string().optional(),
  organization: z.string().optional(),
  email: z.string().optional(),
});

export type KnownName = Frozen<z.output<typeof knownName>>;

const model = z.strictObject({
  name,
  kind: z.enum(['chat', 'embeddings']).default('chat'),
  /** The content of its completions; default: it repeats the prompt. */
  completion: z.string().optional(),
  /** The names it extracts from documents for knowledge. Null: it does not read documents. */
  entities: z.array(knownName).nullable().default(null),
  dimensions: z.int().min(1).max(4_096).default(64),
  first_token_ms: milliseconds.default(0),
  token_ms: milliseconds.default(0),
  /** Applies to the first calls, in order. */
  script: z.array(step).default([]),
  /** Applies randomly to all others; the first that occurs. */
  faults: z.array(fault.extend({ probability: z.number().min(0).max(1) })).default([]),
  quotas: z
    .strictObject({
      requests_per_minute: limit,
      requests_per_day: limit,
      tokens_per_minute: limit,
      tokens_per_day: limit,
    })
    .default({}),
  /** Send rate-limit headers. */
  quota_headers: z.boolean().default(true),
});

export type SimulatedModel = Frozen<z.output<typeof model>>;

const provider = z.strictObject({
  /** Its base URL is `URL/NAME/v1`. */
  name: z.string().regex(/^[\w.-]+$/, 'letters, digits and . _ - only'),
  /** Accepted keys; empty: all. */
  keys: z.array(z.string().min(1)).default([]),
  latency_ms: milliseconds.default(0),
  models: z
    .array(model)
    .min(1)
    .refine((models) => areNamesUnique(models), 'two models have the same name'),
});

const scenario = z
  .strictObject({ seed: z.int().min(0).max(4_294_967_295).default(1), providers: z.array(provider).min(1) })
  .refine(({ providers }) => areNamesUnique(providers), 'two providers have the same name');

export type Scenario = Frozen<z.output<typeof scenario>>;

function areNamesUnique(named: readonly { readonly name: string }[]): boolean {
  return new Set(named.map((each) => each.name)).size === named.length;
}

/** Fails with INPUT_INVALID that names every problem. */
export function readScenario(value: unknown): Scenario {
  return checked(scenario, value, 'The scenario');
}

/** Fails with INPUT_INVALID that names every problem. */
export function readScript(value: unknown): readonly Step[] {
  return checked(z.array(step), value, 'The script');
}

function checked<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`,
  );
  throw new CoreError('INPUT_INVALID', `${what} is invalid: ${problems.join('; ')}.`);
}
