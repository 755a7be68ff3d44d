// Reads a chunk by rules: names, projects and simple events, at lower confidence than a model.
import type { IdSource } from '../../core/index.ts';
import type { DocumentModel } from '../documents/document.ts';
import type { LanguageModel } from '../models/structured-output.ts';
import type { Reader, Readers, ReadingTask } from './reader.ts';
import type { DroppedCount, EntityMention, ReadEvent, Reading } from './types.ts';
import { visibleText, wordsOf } from '../text/spans.ts';
import { createModelReader } from './model-reader.ts';
import { sectionOf } from './rules/event-cues.ts';
import type { RefMention } from './rules/events.ts';
import { findEvents, headEvent } from './rules/events.ts';
import { findMentions } from './rules/mentions.ts';
import { sentencesOf } from './rules/sentences.ts';

interface ReaderDeps {
  readonly model: LanguageModel;
  readonly ids: IdSource;
  /** False: rules only, which is not a degradation. */
  readonly readWithModel: boolean;
}

/** `model()` is evaluated for every chunk: models are added and removed while a server runs. */
export function createReaders({ model, ids, readWithModel }: ReaderDeps): Readers {
  const byModel = createModelReader(model, ids);
  return {
    rules: createRulesReader(),
    model: () => (readWithModel && model.isConfigured() ? byModel : null),
  };
}

/** Limits of one reading. */
const maxMentions = 20_000;
const maxEvents = 2_000;

/** Never fails. Reads the prose only: names of data fields look like names of people. */
export function createRulesReader(): Reader {
  return { method: 'rules', read: async (task) => readByRules(task) };
}

/** Invisible characters do not split names; offsets and quotes are those of the stored text. */
export function readByRules({ chunk, document }: ReadingTask): Reading {
  const { startChar, heading } = chunk;
  const text = document.prose.slice(startChar, startChar + chunk.text.length);
  const visible = visibleText(text);
  const reading = readVisible(visible.text, { startChar, heading }, document);
  if (visible.text === text) return reading;
  const original = (one: { readonly startChar: number | null; readonly endChar: number | null }) => {
    const [start, end] = visible.place((one.startChar ?? 0) - startChar, (one.endChar ?? 0) - startChar);
    return { words: text.slice(start, end), startChar: startChar + start, endChar: startChar + end };
  };
  return {
    ...reading,
    mentions: reading.mentions.map((mention) => {
      const { words, ...span } = original(mention);
      return { ...mention, ...span, surfaceForm: words };
    }),
    events: reading.events.map((event) => ({
      ...event,
      evidence: event.evidence.map((each) => {
        const { words, ...span } = original(each);
        return { ...span, quote: words };
      }),
    })),
  };
}

function readVisible(
  text: string,
  { startChar, heading }: Pick<ReadingTask['chunk'], 'startChar' | 'heading'>,
  { title, annotations }: DocumentModel,
): Reading {
  const found = findMentions(text, wordsOf(text), annotations);
  const mentions: readonly RefMention[] = found
    .slice(0, maxMentions)
    .map((mention, index) => ({ ...mention, ref: `m${index + 1}` }));
  const starts = new Set(mentions.filter(({ type }) => type === 'person').map(({ start }) => start));
  const { sentences, head } = sentencesOf(text, sectionOf(heading ?? ''), (start) => starts.has(start));
  const author = mentions.find(({ type, name }) => type === 'person' && name === annotations.author) ?? null;
  const events = [
    ...[headEvent(text, head, mentions, title, annotations)].filter((event) => event !== null),
    ...findEvents({ text, mentions, author, annotations }, sentences),
  ];
  const dropped = [
    ...tooMany('mentions-too-many', found.length, maxMentions),
    ...tooMany('events-too-many', events.length, maxEvents),
  ];
  return {
    method: 'rules',
    mentions: mentions.map((mention) => asMention(mention, text, startChar)),
    events: events.slice(0, maxEvents).map((event) => moved(event, startChar)),
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
