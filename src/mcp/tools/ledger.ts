// ledger: what fell back or stayed undone in the whole house.
import { z } from 'zod';
import { cut, fitting } from '../bounds.ts';
import { id, limitOf, maybe, note, text } from '../fields.ts';
import { defineTool } from '../tool.ts';

const longestMessage = 500;

const entry = z.object({
  id: text,
  kind: text,
  subject: text.describe('What it happened to.'),
  cause: text,
  message: text,
  count: z.number().describe('How often it was seen.'),
  first_seen_at: text,
  last_seen_at: text,
  repaired_at: maybe,
  repaired_how: maybe,
  repair_attempts: z.number(),
  next_repair_at: maybe,
  last_repair_error: maybe,
});

const page = z.object({ entries: z.array(entry), next: maybe });

export const ledger = defineTool({
  name: 'ledger',
  title: 'What fell back or stayed undone',
  description:
    'Rows of the ledger, newest first: everything that failed and was worked around or left undone, with its cause, and ' +
    'when it will be repaired. Use it for "what is broken", "why is this missing". Most rows are repaired by themselves; ' +
    'people can hurry it with "headworks repair".',
  access: 'admin',
  isOfSpace: false,
  does: 'reads',
  input: {
    state: z.enum(['open', 'repaired', 'all']).default('open'),
    kind: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Such as knowledge.embedding-missing; status counts them.'),
    subject: z.string().min(1).max(1_000).optional().describe('Only what happened to this, word for word.'),
    limit: limitOf(100, 20),
    after: id.optional().describe('`next` of the page before.'),
  },
  output: {
    entries: z.array(entry),
    next: maybe.describe('Give it as `after` for the next page; null at the end.'),
    note,
  },
  async run(query, { api, signal }) {
    const answer = page.parse(await api.call('GET', '/api/v1/ledger', { query, signal }));
    const entries = answer.entries.map((each) => ({
      ...each,
      subject: cut(each.subject, longestMessage),
      message: cut(each.message, longestMessage),
      last_repair_error: each.last_repair_error === null ? null : cut(each.last_repair_error, longestMessage),
    }));
    const shown = fitting(entries);
    const next = shown.length < entries.length ? (shown.at(-1)?.id ?? null) : answer.next;
    return {
      entries: [...shown],
      next,
      note: next === null ? null : `There are more rows; call again with after = ${next}.`,
    };
  },
});
