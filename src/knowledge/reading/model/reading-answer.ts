// A model's answer made into a reading: every field is checked, and what does not stand in the text is rejected.
import type { EntityMention, Reading, ReadingTask } from '../../ports.ts';
import { QuoteFinder } from '../../text/quotes.ts';
import { Names, readEvent } from './answer-event.ts';
import { readMention } from './answer-mention.ts';
import { Notes } from './answer-notes.ts';
import type { TextOccurrences } from '../../text/said-in.ts';
import { field, isFields, listField } from './lenient-fields.ts';

/** More than a chunk can hold. What is beyond is left out and counted: answers and stores have an end. */
const mostMentions = 20_000;
const mostEvents = 2_000;

/** The lists of an answer; a bare list is one of events or of mentions. Null when it has neither. */
function answerLists(
  value: unknown,
): { readonly mentions: readonly unknown[]; readonly events: readonly unknown[] } | null {
  if (Array.isArray(value)) {
    const areEvents = value.some((one) => isFields(one) && field(one, 'category', 'narrative') !== undefined);
    return areEvents ? { mentions: [], events: value } : { mentions: value, events: [] };
  }
  if (!isFields(value)) return null;
  const inner = field(value, 'result', 'output', 'answer', 'data', 'response');
  const mentionKeys = ['mentions', 'entities', 'entity_mentions', 'people'];
  const eventKeys = ['events', 'event', 'semantic_events'];
  const hasLists = field(value, ...mentionKeys, ...eventKeys) !== undefined;
  if (!hasLists && inner !== undefined) return answerLists(inner);
  if (!hasLists) return field(value, 'category') === undefined ? null : { mentions: [], events: [value] };
  return { mentions: listField(value, ...mentionKeys), events: listField(value, ...eventKeys) };
}

/** Null when the answer is no reading at all; single entries that cannot be used are counted in `dropped`. */
export function readAnswer(value: unknown, { chunk }: ReadingTask, said: TextOccurrences): Reading | null {
  const lists = answerLists(value);
  if (!lists) return null;
  const notes = new Notes();
  const finder = new QuoteFinder(chunk.text);
  const names = new Names();
  const mentions: EntityMention[] = [];
  for (const entry of notes.first(lists.mentions, mostMentions, 'mentions-too-many')) {
    const mention = readMention(entry, finder, said, chunk, mentions.length, notes);
    if (!mention) continue;
    mentions.push(mention);
    names.add(mention);
  }
  const events = notes
    .first(lists.events, mostEvents, 'events-too-many')
    .flatMap((entry) => readEvent(entry, finder, chunk, names, notes) ?? []);
  return { method: 'model', mentions, events, dropped: notes.list() };
}
