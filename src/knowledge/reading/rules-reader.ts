// Readers of chunks and their input; the reader by rules: names, projects and simple events, at lower confidence than a
// model.
import type { DocumentModel } from '../documents/document.ts';
import type { DroppedCount, EntityMention, Reading } from './types.ts';
import { visibleText, wordsOf } from '../text/spans.ts';
import type { RefMention } from './rules/events.ts';
import { findEvents, headEvent } from './rules/events.ts';
import { findMentions } from './rules/mentions.ts';
import { sectionOf, sentencesOf } from './rules/sentences.ts';

export interface ReadingTask {
  readonly chunk: { readonly text: string; readonly startChar: number; readonly heading: string | null };
  /** The whole document: people introduced elsewhere (attendees, senders) are known in every chunk. */
  readonly document: DocumentModel;
  /** Billed caller: `org:ID`, or `admin`. */
  readonly caller: string;
}

export interface Reader {
  readonly method: 'model' | 'rules';
  /** Fails with KNOWLEDGE_READING_FAILED (model: rejected, timed out or unusable twice); rules do not fail. */
  read(task: ReadingTask, signal: AbortSignal): Promise<Reading>;
}

/**
 * The model reader while a model is configured and enabled, else rules; evaluated for every chunk. One implementation:
 * tests replace it with readers that fail.
 */
export interface Readers {
  readonly rules: Reader;
  model(): Reader | null;
}

/** Limits of one reading. */
const maxMentions = 20_000;
const maxEvents = 2_000;

/** Reads the prose only: names of data fields look like names of people. Invisible characters do not split names; offsets and quotes are those of the stored text. */
export function readByRules({ chunk, document }: Pick<ReadingTask, 'chunk' | 'document'>): Reading {
  const { title, annotations } = document;
  const stored = document.prose.slice(chunk.startChar, chunk.startChar + chunk.text.length);
  const visible = visibleText(stored);
  const { text } = visible;
  const storedSpan = (from: number, to: number) => {
    const [start, end] = visible.place(from, to);
    const span = { startChar: chunk.startChar + start, endChar: chunk.startChar + end };
    return { words: stored.slice(start, end), ...span };
  };
  const found = findMentions(text, wordsOf(text), annotations);
  const mentions: readonly RefMention[] = found
    .slice(0, maxMentions)
    .map((mention, index) => ({ ...mention, ref: `m${index + 1}` }));
  const people = mentions.filter(({ type }) => type === 'person');
  const starts = new Set(people.map(({ start }) => start));
  const { sentences, head } = sentencesOf(text, sectionOf(chunk.heading ?? ''), (start) => starts.has(start));
  const author = people.find(({ name }) => name === annotations.author) ?? null;
  const events = [
    ...[headEvent(text, head, mentions, title, annotations)].filter((event) => event !== null),
    ...findEvents({ text, mentions, author, annotations }, sentences),
  ];
  return {
    method: 'rules',
    mentions: mentions.map(({ ref, start, end, name, type, clues, confidence }) => {
      const { words: surfaceForm, ...span } = storedSpan(start, end);
      const read = { ref, surfaceForm, canonicalSuggestion: name, type, contextClues: clues };
      return withinDocument({ ...read, ...span, confidence, method: 'rules' }, document);
    }),
    events: events.slice(0, maxEvents).map((event) => ({
      ...event,
      evidence: event.evidence.map(({ startChar, endChar }) => {
        const { words: quote, ...span } = storedSpan(startChar, endChar);
        return { quote, ...span };
      }),
    })),
    dropped: [
      ...tooMany('mentions-too-many', found.length, maxMentions),
      ...tooMany('events-too-many', events.length, maxEvents),
    ],
  };
}

const tooMany = (reason: DroppedCount['reason'], count: number, max: number): readonly DroppedCount[] =>
  count > max ? [{ reason, count: count - max }] : [];

/** A part of a name refers to the only person of the document who has it; if there are several, to none of them. */
export function withinDocument(mention: EntityMention, { annotations }: DocumentModel): EntityMention {
  const part = mention.canonicalSuggestion.toLowerCase();
  if (mention.type !== 'person' || /[\s@.]/.test(part)) return mention;
  if (annotations.roster.isShared(part)) return { ...mention, isAmbiguous: true };
  const person = annotations.roster.byPart(part);
  return person ? { ...mention, canonicalSuggestion: person.name } : mention;
}
