// Requests and responses of the tenant API.
import { z } from 'zod';
import type { Execution } from '../../tenancy/index.ts';
import { toTenantView } from '../../tenancy/index.ts';
import { id } from '../../api/fields.ts';

const maxTimeout = 300;
const timeoutRule = `must be a whole number from -1 to ${maxTimeout}`;
/** In a query or a form a field may occur more than once. */
const once =
  (rule: string) =>
  ({ input }: { readonly input?: unknown }): string =>
    Array.isArray(input) ? 'was sent more than once; send it once' : rule;

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
  .pipe(z.number().int(timeoutRule).min(-1, timeoutRule).max(maxTimeout, timeoutRule));

const waitRule = 'must be seconds, like 5 or 0.5';

export const deploymentParams = z.object({
  org: z.string().describe("The organization's id or name."),
  api: z.string().describe("The deployment's name or id."),
});

/** Strict: a misspelled `timout` must not silently have the default. */
export const executeQuery = z.strictObject({
  timeout: timeoutSeconds
    .optional()
    .describe(
      'Seconds to wait for the result, up to 300; -1 (default) and 0 return at once. May also be a field of the body.',
    ),
  wait: z
    .string({ error: once(waitRule) })
    .regex(/^\d{1,9}(\.\d{1,3})?$/, waitRule)
    .transform(Number)
    .optional()
    .describe(
      'Seconds to wait in the queue for a slot when the limit is reached. Default: `wait_seconds` of the deployment.',
    ),
});

export const executeHeaders = z.looseObject({
  'idempotency-key': z
    .string()
    .regex(/^[\u0020-\u007e]{1,255}$/, 'must be 1 to 255 printable characters')
    .optional()
    .describe('A repeated request with the same key returns the same execution and runs nothing twice.'),
});

export const executionQuery = z.strictObject({ execution_id: id });

export const executionState = z
  .object({
    execution_id: z.string(),
    status: z.enum(['queued', 'executing', 'completed', 'error', 'stopped']),
    status_api: z
      .string()
      .describe('URL of the execution. Stays valid when the organization or the deployment is renamed.'),
    result: z.unknown().describe('Result of the workflow; null until it has completed.'),
    error: z.object({ code: z.string(), message: z.string() }).optional(),
    warnings: z.array(z.string()).optional().describe('Omissions and fallbacks.'),
  })
  .meta({ id: 'ExecutionState', description: 'State of an execution.' });

export const tenantError = z
  .object({
    type: z.enum(['client_error', 'validation_error', 'server_error']),
    errors: z.array(
      z.object({
        code: z.string(),
        detail: z.string(),
        attr: z.string().nullable().describe('The field that is wrong, if any.'),
      }),
    ),
  })
  .meta({ id: 'TenantError', description: 'Error of the tenant API.' });

export const tenantErrorResponses = { '4xx': tenantError, '5xx': tenantError } as const;

/** With ids in the URL: names may change. */
export function viewOfExecutionState(execution: Execution): z.infer<typeof executionState> {
  const { executionId, organizationId, deploymentId, status, result, failure, warnings } =
    toTenantView(execution);
  return {
    execution_id: executionId,
    status,
    status_api: `/deployment/api/${organizationId}/${deploymentId}?execution_id=${executionId}`,
    result: result ?? null,
    ...(failure ? { error: { code: failure.code, message: failure.message } } : {}),
    ...(warnings.length > 0 ? { warnings: [...warnings] } : {}),
  };
}
