// The live stream over HTTP.
import { z } from 'zod';
import { instant, listOf } from './fields.ts';

export const eventsQuery = z.strictObject({
  names: listOf(z.string().regex(/^[a-z][a-z0-9:-]*$/, 'must be the beginning of an event name, like job:'))
    .optional()
    .describe('Only events whose names begin so; several are separated by commas.'),
});

/** Checked in tests rather than on the hot path: it describes what EventHistory writes. */
export const streamedEvent = z.object({
  name: z.string(),
  at: instant,
  payload: z.record(z.string(), z.unknown()).describe('Ids, classes and numbers; never content.'),
});

export const eventStream = {
  description: 'Server-sent events.',
  content: { 'text/event-stream': { schema: z.string() } },
} as const;
