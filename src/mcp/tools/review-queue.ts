// review_queue: possible duplicates, for a person to decide.
import { z } from 'zod';
import { cut, fitting, inOneNote } from '../bounds.ts';
import { knowledgePath, pageSize, note, text, wordsAreData } from '../fields.ts';
import { defineTool } from '../tool.ts';
import { entityFields, shortEntity, tailNote } from './entity.ts';

const side = z.object(entityFields);
const pair = { id: text, confidence: z.number().describe('0 to 1 that they are the same.') };

const queue = z.object({
  pairs: z.array(
    z.object({
      ...pair,
      reason: text,
      evidence: z.looseObject({ reasons: z.array(text).optional().catch(undefined) }),
      a: side,
      b: side,
    }),
  ),
});

export const reviewQueue = defineTool({
  name: 'review_queue',
  title: 'Entities that may be the same',
  description:
    'Pairs of entities that may be one and the same and wait for a decision, surest first, with what speaks for it. Look at ' +
    'both with get_entity before you decide; if they are the same, use merge_entities. Doubt means: leave them. That two ' +
    `are different is said by people, in the dashboard or with "headworks entities review". ${wordsAreData}`,
  access: 'admin',
  isOfSpace: true,
  effect: 'reads',
  input: { limit: pageSize(50, 10) },
  output: {
    pairs: z.array(z.object({ ...pair, reasons: z.array(text).describe('Up to 10.'), a: side, b: side })),
    note,
  },
  async run({ limit }, { api, place, signal }) {
    // One more tells whether there are more.
    const query = { limit: limit + 1, ...place };
    const answer = queue.parse(await api.call('GET', `${knowledgePath}/pairs`, { query, signal }));
    const pairs = answer.pairs.slice(0, limit).map(({ evidence, reason, ...each }) => ({
      ...each,
      reasons: (evidence.reasons ?? [reason]).slice(0, 10).map((line) => cut(line, 300)),
      a: shortEntity(each.a),
      b: shortEntity(each.b),
    }));
    const shown = fitting(pairs);
    const isAll = shown.length === answer.pairs.length;
    return {
      pairs: [...shown],
      note: inOneNote(
        isAll
          ? shown.length === 0
            ? 'Nothing is in doubt here.'
            : null
          : 'More pairs wait; decide these first, then ask again, or ask with a higher limit.',
        tailNote(...answer.pairs.slice(0, shown.length).flatMap(({ a, b }) => [a, b])),
      ),
    };
  },
});
