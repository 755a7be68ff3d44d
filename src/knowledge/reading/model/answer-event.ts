// One event of an answer: its category must be known, and a quote must stand in the text.
import type { EntityMention, ReadEvent, ReadingTask } from '../../ports.ts';
import type { Place, QuoteFinder } from '../../text/quotes.ts';
import { quoteRange } from '../../text/quotes.ts';
import { longestName } from './answer-mention.ts';
import type { Notes } from './answer-notes.ts';
import type { Fields } from './lenient-fields.ts';
import {
  field,
  isFields,
  listField,
  readCategory,
  readRole,
  shareField,
  textField,
} from './lenient-fields.ts';

const mostActors = 1_000;
const mostQuotes = 20;

/** Whom an event's names mean: by canonical name, by the words of the text, or by a part that only one has. */
export class Names {
  readonly #refs = new Map<string, string | null>();

  add({ ref, surfaceForm, canonicalSuggestion }: EntityMention): void {
    for (const name of [canonicalSuggestion, surfaceForm]) {
      const key = name.toLowerCase();
      if (!this.#refs.get(key)) this.#refs.set(key, ref);
    }
    const [first = '', ...rest] = canonicalSuggestion.toLowerCase().split(' ');
    const known = this.#refs.get(first);
    if (rest.length > 0 && known !== ref) this.#refs.set(first, known === undefined ? ref : known);
  }

  ref(name: string | null): string | null {
    return name === null ? null : (this.#refs.get(name.toLowerCase()) ?? null);
  }
}

/** Null, with a note, when it cannot be used. */
export function readEvent(
  entry: unknown,
  finder: QuoteFinder,
  chunk: ReadingTask['chunk'],
  names: Names,
  notes: Notes,
): ReadEvent | null {
  if (!isFields(entry)) {
    notes.add('event-no-object');
    return null;
  }
  const category = readCategory(field(entry, 'category', 'type', 'event_type', 'kind'));
  if (category === null) {
    notes.add('event-category-unknown');
    return null;
  }
  const { evidence, refused } = evidenceOf(entry, finder, chunk, notes);
  const [first] = evidence;
  if (!first) {
    notes.add('event-quote-not-in-text');
    return null;
  }
  notes.add('quote-not-in-text', refused);
  const subject = textField(entry, longestName, 'subject', 'topic', 'object', 'about');
  return {
    category,
    eventTime: timeOf(textField(entry, 40, 'event_time', 'time', 'date', 'due_date', 'when', 'timestamp')),
    narrative: textField(entry, 500, 'narrative', 'summary', 'description', 'event', 'text') ?? first.quote,
    subjectRef: names.ref(subject),
    subject,
    actors: actorsOf(entry, names, notes),
    evidence,
    confidence: shareField(entry, 0.8, 'confidence', 'score'),
  };
}

function evidenceOf(
  entry: Fields,
  finder: QuoteFinder,
  { text, startChar }: ReadingTask['chunk'],
  notes: Notes,
): { readonly evidence: ReadEvent['evidence']; readonly refused: number } {
  const given = listField(
    entry,
    'evidence',
    'evidence_quote',
    'quote',
    'quotes',
    'evidence_quotes',
    'source_quote',
  );
  const places = new Map<number, Place>();
  let refused = 0;
  for (const one of notes.first(given, mostQuotes, 'quotes-too-many')) {
    const quote = isFields(one) ? field(one, 'quote', 'text', 'evidence', 'span') : one;
    const place = typeof quote === 'string' ? finder.find(quote) : null;
    if (place) places.set(place.start, quoteRange(text, place));
    else refused += 1;
  }
  const evidence = [...places.values()].map(({ start, end }) => ({
    quote: text.slice(start, end),
    startChar: startChar + start,
    endChar: startChar + end,
  }));
  return { evidence, refused };
}

/** Names that are no mention are left out: nothing stands in the text for them. */
function actorsOf(entry: Fields, names: Names, notes: Notes): ReadEvent['actors'] {
  const found = new Map<string, ReadEvent['actors'][number]>();
  const given = listField(entry, 'actors', 'actor', 'participants', 'people', 'who');
  for (const one of notes.first(given, mostActors, 'actors-too-many')) {
    const name = isFields(one)
      ? textField(one, longestName, 'name', 'canonical_name', 'actor', 'ref', 'entity', 'person')
      : typeof one === 'string'
        ? one.trim()
        : null;
    const ref = names.ref(name);
    if (ref === null) notes.add('actor-not-mentioned');
    if (ref !== null && !found.has(ref))
      found.set(ref, {
        ref,
        role: (isFields(one) ? readRole(field(one, 'role', 'type')) : null) ?? 'contributor',
      });
  }
  return [...found.values()];
}

/** A day or an instant of a year that people write about. */
function timeOf(text: string | null): Date | null {
  if (text === null || !/^\d{4}-\d{2}(?:-\d{2})?/.test(text)) return null;
  const date = new Date(text.length === 7 ? `${text}-01` : text);
  const year = date.getUTCFullYear();
  return Number.isNaN(year) || year < 1900 || year >= 2200 ? null : date;
}
