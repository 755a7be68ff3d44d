// list_events: what happened, with who took part and the evidence.
import { z } from 'zod';
import { cut, fitting } from '../bounds.ts';
import { eventCategory } from '../choices.ts';
import { id, instant, knowledgePath, pageSize, maybe, note, text, wordsAreData } from '../fields.ts';
import { defineTool } from '../tool.ts';

const longestNarrative = 1_000;
const longestQuote = 400;
const mostNames = 20;
const mostQuotes = 3;

const about = {
  id: text,
  category: text,
  event_time: maybe,
  narrative: text,
  artifact_id: text,
  confidence: z.number(),
  actors: z.array(z.object({ entity_id: text, name: text, role: text })).describe(`Up to ${mostNames}.`),
  subjects: z.array(z.object({ entity_id: text, name: text })).describe(`Up to ${mostNames}.`),
};

const page = z.object({
  events: z.array(z.object({ ...about, evidence: z.array(z.object({ quote: text })) })),
  next: maybe,
});

export const listEvents = defineTool({
  name: 'list_events',
  title: 'List events',
  description:
    'What happened according to the documents (decisions, commitments, …), those read last first: by category, time, ' +
    'entity or document. Use it for "what was decided", "what did X do", "what changed since"; entity ids come from ' +
    `search and get_entity. ${wordsAreData}`,
  access: 'tenant',
  isOfSpace: true,
  effect: 'reads',
  input: {
    category: eventCategory.optional(),
    entity_id: id.optional().describe('Events in which it acts, or which are about it.'),
    artifact_id: id.optional().describe('Events of this document.'),
    from: instant.optional().describe('By the time of the event, such as 2026-03-01T00:00:00Z.'),
    to: instant.optional(),
    limit: pageSize(100, 20),
    after: id.optional().describe('`next` of the previous page.'),
  },
  output: {
    events: z.array(
      z.object({
        ...about,
        quotes: z.array(text).describe(`Where it stands in the document; up to ${mostQuotes}.`),
      }),
    ),
    next: maybe.describe('Pass it as `after` to get the next page; null on the last page.'),
    note,
  },
  async run(input, { api, place, signal }) {
    const query = { ...input, ...place };
    const answer = page.parse(await api.call('GET', `${knowledgePath}/events`, { query, signal }));
    const events = answer.events.map(({ evidence, ...event }) => ({
      ...event,
      narrative: cut(event.narrative, longestNarrative),
      actors: event.actors.slice(0, mostNames),
      subjects: event.subjects.slice(0, mostNames),
      quotes: evidence.slice(0, mostQuotes).map(({ quote }) => cut(quote, longestQuote)),
    }));
    const shown = fitting(events);
    // Pages begin behind an id: whatever is left out comes with the next one.
    const next = shown.length < events.length ? (shown.at(-1)?.id ?? null) : answer.next;
    return {
      events: [...shown],
      next,
      note: next === null ? null : `There are more events; call again with after = ${next}.`,
    };
  },
});
