// Checks what comes over the control endpoints and from callers without types.
import { z } from 'zod';
import type { ContentChange, SimulatorBehaviour } from './ports.ts';
import { faultNames, retryAfterStyles, simulatedTypes } from './ports.ts';

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

const behaviour = z
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

/** The behaviour, or a RangeError that names what is wrong with it. */
export const checkBehaviour = (value: unknown): Partial<SimulatorBehaviour> => check(behaviour, value);

function check<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map(
    ({ path, message }) => `${path.length === 0 ? 'the body' : path.join('.')}: ${message}`,
  );
  throw new RangeError(problems.join('; '));
}
