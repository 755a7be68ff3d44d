// The door over HTTP: what requests may say, and what they hear.
import { z } from 'zod';
import type { Execution } from '../../tenancy/index.ts';
import { forTenant } from '../../tenancy/index.ts';
import { id } from '../../api/fields.ts';

const longestTimeout = 300;
const timeoutRule = `must be a whole number from -1 to ${longestTimeout}`;
/** In a query or a form it may come more than once. */
const once =
  (rule: string) =>
  ({ input }: { readonly input?: unknown }): string =>
    Array.isArray(input) ? 'was sent more than once: say it once' : rule;

/** Text as in a query or a form, or a number as in JSON. */
export const timeoutSeconds = z
  .union(
    [
      z.number(),
      z
        .string()
        .regex(/^-?\d{1,3}$/, timeoutRule)
        .transform(Number),
    ],
    { error: once(timeoutRule) },
  )
  .pipe(z.number().int(timeoutRule).min(-1, timeoutRule).max(longestTimeout, timeoutRule));

const waitRule = 'must be seconds, like 5 or 0.5';

export const doorParams = z.object({
  org: z.string().describe("The organization's id or name."),
  api: z.string().describe("The deployment's name or id."),
});

/** Strict: whoever writes `timout` would wait for a default. */
export const executeQuery = z.strictObject({
  timeout: timeoutSeconds
    .optional()
    .describe(
      'Seconds to wait for the result, up to 300; -1 (default) and 0 answer at once. Instead it may be a field of the body.',
    ),
  wait: z
    .string({ error: once(waitRule) })
    .regex(/^\d{1,9}(\.\d{1,3})?$/, waitRule)
    .transform(Number)
    .optional()
    .describe('Seconds to wait for a slot while all are taken. Default: as the deployment says.'),
});

export const executeHeaders = z.looseObject({
  'idempotency-key': z
    .string()
    .regex(/^[\u0020-\u007e]{1,255}$/, 'must be 1 to 255 printable characters')
    .optional()
    .describe('The same key with the same request gives the same execution, and runs nothing twice.'),
});

export const executionQuery = z.strictObject({ execution_id: id });

export const executionState = z
  .object({
    execution_id: z.string(),
    status: z.enum(['queued', 'executing', 'completed', 'error', 'stopped']),
    status_api: z.string().describe('Where to ask for the state, as often as wanted, also after a renaming.'),
    result: z.unknown().describe('What the workflow gave; null until it has completed.'),
    error: z.object({ code: z.string(), message: z.string() }).optional(),
    warnings: z.array(z.string()).optional().describe('What was left out, or done by a lesser way.'),
  })
  .meta({ id: 'ExecutionState', description: 'An execution, as the one who asked for it sees it.' });

export const doorErrorAnswer = z
  .object({
    type: z.enum(['client_error', 'validation_error', 'server_error']),
    errors: z.array(
      z.object({
        code: z.string(),
        detail: z.string(),
        attr: z.string().nullable().describe('The field it is about.'),
      }),
    ),
  })
  .meta({ id: 'DoorError', description: 'Why the request was not accepted.' });

export const doorErrorAnswers = { '4xx': doorErrorAnswer, '5xx': doorErrorAnswer } as const;

/** By ids: names may change, and the address must lead there for as long as the execution is kept. */
export function stateOf(execution: Execution): z.infer<typeof executionState> {
  const { executionId, organizationId, deploymentId, status, result, failure, warnings } =
    forTenant(execution);
  return {
    execution_id: executionId,
    status,
    status_api: `/deployment/api/${organizationId}/${deploymentId}?execution_id=${executionId}`,
    result: result ?? null,
    ...(failure ? { error: { code: failure.code, message: failure.message } } : {}),
    ...(warnings.length > 0 ? { warnings: [...warnings] } : {}),
  };
}
