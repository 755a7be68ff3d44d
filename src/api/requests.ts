// The log of requests to AI models.
import { z } from 'zod';
import { count, instant, next, pageSize } from './fields.ts';
import { operation } from './operation.ts';

const status = z
  .enum(['completed', 'failed', 'rejected', 'canceled'])
  .describe('`rejected`: no model was called, because of a limit or because none is suitable or available.');

const costUsd = z
  .number()
  .nullable()
  .describe('US dollars; null: unknown, as the model has no price or the call no usage.');

const tokenFields = {
  prompt_tokens: count,
  completion_tokens: count,
  cache_read_tokens: count.describe("Prompt tokens read from the provider's cache."),
  cache_write_tokens: count.describe("Prompt tokens written to the provider's cache."),
  cost_usd: costUsd,
};

const entryId = z.coerce.number('must be a number').int().min(1);

export const GatewayRequest = z
  .object({
    id: count.describe('Increases in the order in which requests ended.'),
    request_id: z
      .string()
      .describe('The header x-request-id of the response; with a suffix if the caller chose it.'),
    at: instant.describe('When it started.'),
    caller: z
      .string()
      .describe(
        'Who sent it: `admin`, `probe`, `key:` and the id of a key, or `org:` and the id of an organization.',
      ),
    api: z
      .string()
      .describe('`chat`, `responses`, `messages`, `completions`, `embeddings`, or another endpoint.'),
    requested_model: z.string().describe('As the caller sent it.'),
    model: z.string().nullable().describe('The model that responded; null: none.'),
    status,
    outcome: z
      .string()
      .describe(
        '`success`, `canceled`, the class of the failure that interrupted its stream, or an error code.',
      ),
    attempts: count.describe('Calls to models.'),
    duration_ms: z.number().describe('From its start to the last byte of the response.'),
    first_token_ms: z
      .number()
      .nullable()
      .describe('From its start to the first content of a stream; null for others.'),
    ...tokenFields,
  })
  .meta({ id: 'GatewayRequest', description: 'A request to AI models that has ended.' });
export type GatewayRequest = z.infer<typeof GatewayRequest>;

const GatewayRequestAttempt = z.object({
  model: z.string(),
  at: instant.describe('When it started.'),
  outcome: z.string().describe('`success` or the failure class.'),
  status: count.nullable().describe('HTTP status; null: no response.'),
  duration_ms: z.number(),
  first_token_ms: z.number().nullable().describe('To the first content of a stream; null for others.'),
  ...tokenFields,
});

export const requestsApi = {
  list: operation('GET /api/v1/gateway/requests', {
    id: 'requests.list',
    tag: 'requests',
    summary: 'List requests to AI models that have ended, the last first',
    description: 'A gateway key gets its own requests only.',
    access: 'gateway',
    query: z.strictObject({
      caller: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe('Only of this caller: `admin`, `probe`, `key:ID` or `org:ID`.'),
      model: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe('Only requests for this model, or completed by it.'),
      status: status.optional(),
      request_id: z.string().min(1).max(300).optional().describe('Only requests with this x-request-id.'),
      since: instant.optional().describe('Only requests since then; default: the last 24 hours.'),
      limit: pageSize(500, 100),
      after: entryId.optional().describe('Continue after this item: `next` of the previous page.'),
    }),
    output: z.object({ requests: z.array(GatewayRequest), next }).meta({ id: 'GatewayRequests' }),
  }),

  get: operation('GET /api/v1/gateway/requests/:id', {
    id: 'requests.get',
    tag: 'requests',
    summary: 'Get a request to AI models with its attempts',
    description:
      'A gateway key gets its own requests only. The content is kept only with gateway.logContent.',
    access: 'gateway',
    params: z.object({ id: entryId.describe('`id` of the list.') }),
    output: GatewayRequest.extend({
      attempts: z.array(GatewayRequestAttempt).describe('Calls to models, in order.'),
      content: z
        .object({
          request: z.string().describe('Body of the request, at most 64 KB.'),
          response: z.string().nullable().describe('Body of the response, at most 64 KB; null: none.'),
        })
        .nullable()
        .describe('Null: not kept.'),
    }).meta({ id: 'GatewayRequestWithAttempts' }),
  }),
} as const;
