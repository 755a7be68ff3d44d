// Parses scenarios: the providers, their models, and how each behaves.
import { z } from 'zod';
import { CoreError } from '../../core/index.ts';
import type { Scenario, Step } from './types.ts';
import { faultNames, hintStyles } from './types.ts';

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
  hint: oneOf(hintStyles).optional(),
  seconds: z.number().min(0).max(2_678_400).optional(),
  ms: milliseconds.optional(),
});

const scriptedFault = fault.extend({ times: z.int().min(1).max(1_000_000).optional() });

/** Not a union: its errors would not name the field. */
const step = z.unknown().transform((value, context): Step => {
  if (value === 'ok') return 'ok';
  const parsed = scriptedFault.safeParse(typeof value === 'object' ? value : { fault: value });
  if (parsed.success) return parsed.data;
  for (const { message, path } of parsed.error.issues)
    context.addIssue({ code: 'custom', message, path: [...path] });
  return z.NEVER;
});

const knownName = z.strictObject({
  name: z.string().min(2),
  also: z.array(z.string().min(2)).default([]),
  type: z.enum(['person', 'org', 'project', 'object', 'place', 'other']),
  role: z.string().optional(),
  organization: z.string().optional(),
  email: z.string().optional(),
});

const model = z
  .strictObject({
    name,
    kind: z.enum(['chat', 'embeddings']).default('chat'),
    answer: z.string().optional(),
    knows: z.array(knownName).nullable().default(null),
    dimensions: z.int().min(1).max(4_096).default(64),
    first_token_ms: milliseconds.default(0),
    token_ms: milliseconds.default(0),
    script: z.array(step).default([]),
    faults: z.array(fault.extend({ probability: z.number().min(0).max(1) })).default([]),
    quotas: z
      .strictObject({
        requests_per_minute: limit,
        requests_per_day: limit,
        tokens_per_minute: limit,
        tokens_per_day: limit,
      })
      .default({}),
    quota_headers: z.boolean().default(true),
  })
  .transform(({ first_token_ms, token_ms, quota_headers, quotas, ...rest }) => ({
    ...rest,
    firstTokenMs: first_token_ms,
    tokenMs: token_ms,
    quotaHeaders: quota_headers,
    quotas: {
      requestsPerMinute: quotas.requests_per_minute,
      requestsPerDay: quotas.requests_per_day,
      tokensPerMinute: quotas.tokens_per_minute,
      tokensPerDay: quotas.tokens_per_day,
    },
  }));

const provider = z
  .strictObject({
    name: z.string().regex(/^[\w.-]+$/, 'letters, digits and . _ - only'),
    keys: z.array(z.string().min(1)).default([]),
    latency_ms: milliseconds.default(0),
    models: z
      .array(model)
      .min(1)
      .refine((models) => areNamesUnique(models), 'two models have the same name'),
  })
  .transform(({ latency_ms, ...rest }) => ({ ...rest, latencyMs: latency_ms }));

const scenario = z
  .strictObject({ seed: z.int().min(0).max(4_294_967_295).default(1), providers: z.array(provider).min(1) })
  .refine(({ providers }) => areNamesUnique(providers), 'two providers have the same name');

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
