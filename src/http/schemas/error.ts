// The one shape of every answer with a status of 400 or more.
import { z } from 'zod';

export const errorAnswer = z
  .object({
    error: z.object({
      code: z
        .string()
        .describe('Stable; safe to build on.')
        .meta({ examples: ['STATE_UNAVAILABLE'] }),
      message: z.string().describe('What happened, to what, and what to do next. For people.'),
      request_id: z.string().describe('The same as in the x-request-id header and in our log.'),
      retry_after_seconds: z.number().optional().describe('When the same call has a chance again.'),
      details: z.record(z.string(), z.unknown()).optional(),
    }),
  })
  .meta({ id: 'Error', description: 'Why the request was not answered.' });

export type ErrorAnswer = z.infer<typeof errorAnswer>;

/** For the `response` of every route. */
export const errorAnswers = { '4xx': errorAnswer, '5xx': errorAnswer } as const;
