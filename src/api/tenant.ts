// The tenant API: executes deployments with a key of the organization. Responses have the founding document's shape.
import { z } from 'zod';
import { failure, id } from './fields.ts';
import { operation } from './operation.ts';
import { executionStates } from '../tenancy/vocabulary.ts';

const maxTimeout = 300;
const timeoutRule = `must be a whole number from -1 to ${maxTimeout}`;
/** Error message for a field of a query or a form, which may occur more than once. */
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

const params = z.object({
  org: z.string().describe("The organization's id or name."),
  api: z.string().describe("The deployment's name or id."),
});

/** Strict: a misspelled `timout` must not silently have the default. */
const executeQuery = z.strictObject({
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

const executeHeaders = z.looseObject({
  'idempotency-key': z
    .string()
    .regex(/^[\u0020-\u007e]{1,255}$/, 'must be 1 to 255 printable characters')
    .optional()
    .describe('A repeated request with the same key returns the same execution and runs nothing twice.'),
});

const executionQuery = z.strictObject({ execution_id: id.describe('Id of the execution.') });

export const TenantExecution = z
  .object({
    execution_id: z.string(),
    status: z
      .enum(executionStates)
      .describe('State of the execution, under the name of the founding document.'),
    status_api: z
      .string()
      .describe('URL of the execution. Stays valid when the organization or the deployment is renamed.'),
    result: z.unknown().describe('Result of the workflow; null until it has completed.'),
    error: failure.optional().describe('Why it failed; only with the status `failed`.'),
    warnings: z.array(z.string()).optional().describe('Omissions and fallbacks.'),
  })
  .meta({ id: 'TenantExecution', description: 'State of an execution.' });

export const TenantError = z
  .object({
    type: z
      .enum(['client_error', 'validation_error', 'server_error'])
      .describe('`validation_error`: a field of the request is wrong.'),
    errors: z.array(
      z.object({
        code: z.string().describe('Stable error code.'),
        detail: z.string().describe('What happened, and what to do.'),
        attr: z.string().nullable().describe('The field that is wrong, if any.'),
      }),
    ),
  })
  .meta({ id: 'TenantError', description: 'Error of the tenant API.' });

const shared = {
  tag: 'deployments',
  access: 'organization',
  params,
  output: TenantExecution,
  errors: { '4xx': TenantError, '5xx': TenantError },
} as const;

export const tenantApi = {
  execute: operation('POST /deployment/api/:org/:api', {
    ...shared,
    id: 'deployment-api.execute',
    summary: 'Execute a deployment with files (form) or JSON',
    description:
      'The body is a form (`multipart/form-data`) with files and fields, or one JSON object; which fields apply depends on ' +
      'the workflow of the deployment. At the limit of concurrent requests of the organization, or of all organizations, the ' +
      'response is 429 with `Retry-After`.',
    query: executeQuery,
    headers: executeHeaders,
    // The handler reads the body itself, after the request has a slot.
    body: z.unknown(),
  }),
  get: operation('GET /deployment/api/:org/:api', {
    ...shared,
    id: 'deployment-api.get-execution',
    summary: 'Get an execution with its result',
    query: executionQuery,
  }),
  cancel: operation('DELETE /deployment/api/:org/:api', {
    ...shared,
    id: 'deployment-api.cancel-execution',
    summary: 'Cancel an execution; an ended one is returned unchanged',
    query: executionQuery,
  }),
} as const;
