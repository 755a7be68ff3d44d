// Fields that several resources share.
import { z } from 'zod';

/** A moment in UTC. Handlers return Dates; they are written as ISO 8601. */
export const instant = z.iso.datetime().meta({ examples: ['2026-03-01T12:00:00.000Z'] });

export const id = z.guid().meta({ examples: ['0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b'] });

export const idParams = z.object({ id });

export const count = z.number().int();

/** `limit` of a list: 1 to `max`. */
export const pageSize = (max: number, standard: number) => {
  const rule = `must be a whole number from 1 to ${max}`;
  const size = z.coerce.number(rule).int(rule).min(1, rule).max(max, rule);
  return size.default(standard).describe(`Maximum number of results, 1 to ${max}.`);
};

export const after = id.optional().describe('Continue after this item: `next` of the previous page.');

export const next = z
  .string()
  .nullable()
  .describe('Pass it as `after` to get the next page; null on the last page.');

/** A query parameter that may be repeated or hold several values separated by commas. */
export const listOf = <Item extends z.ZodType<unknown, string>>(item: Item) =>
  z
    .union([z.string(), z.array(z.string())])
    .transform((raw) => [raw].flat().flatMap((part) => part.split(',')))
    .pipe(z.array(item).min(1).max(50));

const flag = z.enum(['true', 'false', 'True', 'False', '1', '0'], 'must be true or false');
const isTrue = (text: string): boolean => text === '1' || text.toLowerCase() === 'true';

/** A boolean query parameter. Python clients write True and False. */
export const queryFlag = (standard: boolean) => flag.default(standard ? 'true' : 'false').transform(isTrue);

/** The same without a default: undefined applies to both. */
export const queryFilter = flag.transform(isTrue).optional();

/** Postgres stores neither U+0000 nor an unpaired surrogate. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();
export const storableMessage = 'must not contain the character U+0000 or an unpaired surrogate';

/** The response to a successful DELETE. */
export const deleted = z.null().describe('Deleted.');

/** Why an execution failed. */
export const failure = z.object({
  code: z.string().describe('Stable error code.'),
  message: z.string().describe('What happened, and what to do.'),
});

/** A part of the text of a revision. */
export const textRange = {
  start_char: z.number().int().describe('Offset in the text of the revision, in UTF-16 units.'),
  end_char: z.number().int().describe('Offset after the last character.'),
};

export const sourceSystem = z
  .string()
  .describe('System that the document comes from: upload, files, vault:NAME, …');

export const sourceId = z.string().describe('Id of the document in its source system.');

export const ErrorResponse = z
  .object({
    error: z.object({
      code: z
        .string()
        .describe('Stable; safe to build on.')
        .meta({ examples: ['STATE_UNAVAILABLE'] }),
      message: z.string().describe('What happened, to what, and what to do next.'),
      request_id: z.string().describe('The same as in the x-request-id header and in the server log.'),
      retry_after_seconds: z.number().optional().describe('Seconds until a retry can succeed.'),
      details: z
        .record(z.string(), z.unknown())
        .optional()
        .describe('Further fields; they depend on the code.'),
    }),
  })
  .meta({ id: 'Error', description: 'Why the request failed.' });

export type ErrorResponse = z.infer<typeof ErrorResponse>;

/** The space that a knowledge operation works on; part of its query, or of a body that carries a document or search. */
export const spaceFields = {
  organization: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Id or name of the organization that owns the space, for admins; default: the server itself.'),
  space: z.string().min(1).max(100).optional().describe('Name of the space; default: "default".'),
};
