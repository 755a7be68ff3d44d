// Reads a chunk by rules: names, projects and simple events, at lower confidence than a model.
import type { IdSource } from '../../core/index.ts';
import type { DocumentView } from '../documents/document.ts';
import { viewDocument } from '../documents/document.ts';
import type { LanguageModel } from '../models/structured-output.ts';
import type { DroppedCount, EntityMention, ReadEvent, Reader, Reading, ReadingTask } from './types.ts';
import { visibleText, wordsOf } from '../text/spans.ts';
import { createModelReader } from './model-reader.ts';
import { sectionOf } from './rules/event-cues.ts';
import type { RefMention } from './rules/events.ts';
import { findEvents, headEvent } from './rules/events.ts';
import { findMentions } from './rules/mentions.ts';
import { sentencesOf } from './rules/sentences.ts';

interface ReaderParts {
  readonly model: LanguageModel;
  readonly ids: IdSource;
  /** The setting: off means rules only, and that is no degradation. */
  readonly readWithModel: boolean;
}

/** `model()` is asked at every chunk: models come and go while a server runs. */
export function createReaders({ model, ids, readWithModel }: ReaderParts): {
  readonly rules: Reader;
  model(): Reader | null;
} {
  const byModel = createModelReader(model, ids);
  return {
    rules: createRulesReader(),
    model: () => (readWithModel && model.isConfigured() ? byModel : null),
  };
}

/** What one reading may find: the store and the reader of the answer have an end. */
const mostMentions = 20_000;
const mostEvents = 2_000;
/** Documents whose chunks are read in turns, as workers do. */
const keptViews = 8;

/** Never fails, and knows nothing but what it is given. A document is looked through once for all of its chunks. */
export function createRulesReader(): Reader {
  // By the text itself: its hash is kept with it, and the same string is found without being compared.
  const views = new Map<
    string,
    { readonly title: string; readonly date: Date | null; readonly view: DocumentView }
  >();
  const viewOf = (artifact: ReadingTask['artifact']): DocumentView => {
    const { text, title, sourceTs: date } = artifact;
    const known = views.get(text);
    const isSame = known?.title === title && known.date?.getTime() === date?.getTime();
    const view = isSame ? known.view : viewDocument({ ...artifact, text: visibleText(text).text });
    views.delete(text);
    views.set(text, { title, date, view });
    for (const oldest of views.keys()) {
      if (views.size <= keptViews) break;
      views.delete(oldest);
    }
    return view;
  };
  return {
    method: 'rules',
    read: async (task) => readVisible(task, viewOf(task.artifact)),
  };
}

/** As readers see the text: characters that show nothing part no name. Offsets and quotes are those of the text as it is. */
function readVisible(task: ReadingTask, view: DocumentView): Reading {
  const { text, startChar } = task.chunk;
  const seen = visibleText(text);
  if (seen.text === text) return readByRules(task, view);
  const reading = readByRules({ ...task, chunk: { ...task.chunk, text: seen.text } }, view);
  const placed = (one: { readonly startChar: number | null; readonly endChar: number | null }) => {
    const [start, end] = seen.place((one.startChar ?? 0) - startChar, (one.endChar ?? 0) - startChar);
    return { words: text.slice(start, end), startChar: startChar + start, endChar: startChar + end };
  };
  return {
    ...reading,
    mentions: reading.mentions.map((mention) => {
      const { words, ...place } = placed(mention);
      return { ...mention, ...place, surfaceForm: words };
    }),
    events: reading.events.map((event) => ({
      ...event,
      evidence: event.evidence.map((each) => {
        const { words, ...place } = placed(each);
        return { ...place, quote: words };
      }),
    })),
  };
}

/** Offsets of mentions and evidence are those of the revision's text. */
export function readByRules({ chunk, artifact }: ReadingTask, view: DocumentView): Reading {
  const { text, startChar, heading } = chunk;
  const found = findMentions(text, wordsOf(text), view);
  const mentions: readonly RefMention[] = found
    .slice(0, mostMentions)
    .map((mention, index) => ({ ...mention, ref: `m${index + 1}` }));
  const starts = new Set(mentions.filter(({ type }) => type === 'person').map(({ start }) => start));
  const { sentences, head } = sentencesOf(text, sectionOf(heading ?? ''), (start) => starts.has(start));
  const author = mentions.find(({ type, name }) => type === 'person' && name === view.author) ?? null;
  const events = [
    ...[headEvent(text, head, mentions, artifact.title, view)].filter((event) => event !== null),
    ...findEvents({ text, mentions, author, view }, sentences),
  ];
  const dropped = [
    ...tooMany('mentions-too-many', found.length, mostMentions),
    ...tooMany('events-too-many', events.length, mostEvents),
  ];
  return {
    method: 'rules',
    mentions: mentions.map((mention) => asMention(mention, text, startChar)),
    events: events.slice(0, mostEvents).map((event) => moved(event, startChar)),
    dropped,
  };
}

const tooMany = (reason: DroppedCount['reason'], count: number, most: number): readonly DroppedCount[] =>
  count > most ? [{ reason, count: count - most }] : [];

const asMention = (
  { ref, start, end, name, type, clues, confidence }: RefMention,
  text: string,
  offset: number,
): EntityMention => ({
  ref,
  surfaceForm: text.slice(start, end),
  canonicalSuggestion: name,
  type,
  contextClues: clues,
  startChar: start + offset,
  endChar: end + offset,
  confidence,
  method: 'rules',
});

const moved = (event: ReadEvent, offset: number): ReadEvent => ({
  ...event,
  evidence: event.evidence.map(({ quote, startChar, endChar }) => ({
    quote,
    startChar: startChar + offset,
    endChar: endChar + offset,
  })),
});
