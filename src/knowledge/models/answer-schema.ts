// What a model's answer looks like as JSON schemas in the strict form that providers take: every property is required,
// none is added, what may be missing is null.
import type { AnswerSchema } from '../reading/types.ts';
import { actorRoles, entityTypes, eventCategories } from '../reading/types.ts';

// What a model's answer looks like as JSON schemas in the strict form that providers take: every property is required,
// none is added, what may be missing is null.

type Schema = Readonly<Record<string, unknown>>;

const text: Schema = { type: 'string' };
const textOrNull: Schema = { type: ['string', 'null'] };
const oneOf = (words: readonly string[]): Schema => ({ type: 'string', enum: words });
const listOf = (items: Schema): Schema => ({ type: 'array', items });
const objectOf = (properties: Readonly<Record<string, Schema>>): Schema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

export const readingSchema: AnswerSchema = {
  name: 'reading',
  schema: objectOf({
    mentions: listOf(
      objectOf({
        name: text,
        canonical_name: text,
        type: oneOf(entityTypes),
        role: textOrNull,
        organization: textOrNull,
        email: textOrNull,
      }),
    ),
    events: listOf(
      objectOf({
        category: oneOf(eventCategories),
        narrative: text,
        event_time: textOrNull,
        subject: textOrNull,
        actors: listOf(objectOf({ name: text, role: oneOf(actorRoles) })),
        evidence: listOf(text),
        confidence: { type: 'number' },
      }),
    ),
  }),
};

export const confirmationSchema: AnswerSchema = {
  name: 'confirmation',
  schema: objectOf({
    decision: oneOf(['same', 'different', 'uncertain']),
    candidate: { type: ['integer', 'null'] },
    canonical_name: text,
    reason: text,
  }),
};
