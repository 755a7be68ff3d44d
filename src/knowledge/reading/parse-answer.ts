// Turns a model's answer into a reading: every field is validated, and names and quotes must occur in the text.
import type { Fields } from '../models/structured-output.ts';
import { fieldOf, fieldsOf, isRecord, plainKey } from '../models/structured-output.ts';
import type {
  ActorRole,
  ContextClues,
  DroppedCount,
  EntityMention,
  EntityType,
  EventCategory,
  ReadEvent,
  Reading,
} from './types.ts';
import type { ReadingTask } from './rules-reader.ts';
import type { TextSpan } from '../text/quotes.ts';
import { MentionPlacer, QuoteFinder, TextOccurrences, quoteRange } from '../text/quotes.ts';
import { withinDocument } from './rules-reader.ts';

/** More than a chunk can contain; entries beyond are dropped and counted. */
const maxMentions = 20_000;
const maxEvents = 2_000;

/** The lists of an answer; a bare list contains events or mentions. Null when it has neither. */
function answerLists(
  value: unknown,
): { readonly mentions: readonly unknown[]; readonly events: readonly unknown[] } | null {
  if (Array.isArray(value)) {
    const areEvents = value.some((one) => fieldOf(fieldsOf(one) ?? none, 'category narrative') !== undefined);
    return areEvents ? { mentions: [], events: value } : { mentions: value, events: [] };
  }
  const fields = fieldsOf(value);
  if (!fields) return null;
  const inner = fieldOf(fields, 'result output answer data response');
  const mentionKeys = 'mentions entities entity_mentions people';
  const eventKeys = 'events event semantic_events';
  if (fieldOf(fields, `${mentionKeys} ${eventKeys}`) !== undefined)
    return { mentions: listField(fields, mentionKeys), events: listField(fields, eventKeys) };
  if (inner !== undefined) return answerLists(inner);
  return fields.has('category') ? { mentions: [], events: [value] } : null;
}

const none: Fields = new Map();

/** Null when the answer is not a reading; unusable entries are counted in `dropped`. */
export function readAnswer(value: unknown, task: Pick<ReadingTask, 'chunk' | 'document'>): Reading | null {
  const lists = answerLists(value);
  return lists ? new AnswerReader(task).read(lists.mentions, lists.events) : null;
}

const longestName = 300;
const maxActors = 1_000;
const maxQuotes = 20;

class AnswerReader {
  readonly #chunk: ReadingTask['chunk'];
  readonly #document: ReadingTask['document'];
  readonly #occurrences: TextOccurrences;
  readonly #finder: QuoteFinder;
  readonly #mentions: EntityMention[] = [];
  readonly #byId = new Map<string, EntityMention>();
  /** Mentions by canonical name, by surface form, or by a part of the name. */
  readonly #byName = new Map<string, Namesakes>();
  readonly #dropped = new Map<DroppedCount['reason'], number>();

  constructor({ chunk, document }: Pick<ReadingTask, 'chunk' | 'document'>) {
    this.#chunk = chunk;
    this.#document = document;
    const { title } = document;
    this.#occurrences = new TextOccurrences({ title, foldedText: () => document.foldedText }, chunk.text);
    this.#finder = new QuoteFinder(chunk.text);
  }

  read(mentions: readonly unknown[], events: readonly unknown[]): Reading {
    const named = this.#first(mentions, maxMentions, 'mentions-too-many').flatMap(
      (entry) => this.#nameOf(entry) ?? [],
    );
    const names = named.map(({ surface, canonical }) => surface ?? canonical);
    const placer = new MentionPlacer(this.#finder, this.#chunk.text, names);
    for (const entry of named) this.#addMention(entry, placer);
    const read = this.#first(events, maxEvents, 'events-too-many').flatMap(
      (entry) => this.#eventOf(entry) ?? [],
    );
    const dropped = Array.from(this.#dropped, ([reason, count]) => ({ reason, count }));
    return { method: 'model', mentions: this.#mentions, events: read, dropped };
  }

  /** Counts an unusable entry and returns null in its place. */
  #drop(reason: DroppedCount['reason'], count = 1): null {
    if (count > 0) this.#dropped.set(reason, (this.#dropped.get(reason) ?? 0) + count);
    return null;
  }

  /** The first entries up to the limit; the rest is counted. */
  #first<T>(entries: readonly T[], max: number, reason: DroppedCount['reason']): readonly T[] {
    this.#drop(reason, entries.length - max);
    return entries.slice(0, max);
  }

  #nameOf(entry: unknown): NamedEntry | null {
    const fields: Fields = typeof entry === 'string' ? new Map([['name', entry]]) : (fieldsOf(entry) ?? none);
    const surface = textField(fields, longestName, 'name surface_form text mention entity span');
    const canonical = textField(
      fields,
      longestName,
      'canonical_name canonical full_name canonical_suggestion',
    );
    if (surface === null && canonical === null) return this.#drop('mention-without-name');
    return { fields, surface, canonical: canonical ?? surface ?? '' };
  }

  #addMention({ fields, surface, canonical }: NamedEntry, placer: MentionPlacer): void {
    const { text, startChar } = this.#chunk;
    const contextClues = this.#cluesOf(fields);
    const context = textField(fields, longestName, 'context near around');
    const place = placer.place(surface ?? '', context) ?? placer.place(canonical, context);
    if (!place) {
      this.#drop('mention-not-in-text');
      return;
    }
    const surfaceForm = text.slice(place.start, place.end);
    const read: EntityMention = {
      ref: `m${this.#mentions.length + 1}`,
      surfaceForm,
      canonicalSuggestion: canonical,
      type: readType(fieldOf(fields, 'type entity_type kind category label')) ?? 'other',
      contextClues,
      startChar: startChar + place.start,
      endChar: startChar + place.end,
      confidence: shareField(fields, 0.85),
      method: 'model',
    };
    const mention = withinDocument(read, this.#document);
    this.#mentions.push(mention);
    const id = textField(fields, longestName, 'id ref mention_id');
    if (id !== null && !this.#byId.has(id)) this.#byId.set(id, mention);
    const [first = '', ...rest] = canonical.toLowerCase().split(' ');
    const identity = identityOf(mention);
    for (const name of new Set([
      canonical.toLowerCase(),
      surfaceForm.toLowerCase(),
      ...(rest.length > 0 ? [first] : []),
    ])) {
      const known = this.#byName.get(name);
      if (!known) this.#byName.set(name, { first: mention, identity, areOne: true, all: [mention] });
      else {
        known.areOne &&= identity === known.identity;
        known.all.push(mention);
      }
    }
  }

  /**
   * The mention with this id; else the one of this name. If the name is that of several people, the one that a quote
   * of the event contains: null when that is unclear, too.
   */
  #refOf(idOrName: string | null, evidence: ReadEvent['evidence']): string | null {
    if (idOrName === null) return null;
    const byId = this.#byId.get(idOrName);
    if (byId) return byId.ref;
    const named = this.#byName.get(idOrName.toLowerCase());
    if (!named) return null;
    if (named.areOne) return named.first.ref;
    const quoted = named.all.filter(({ startChar, endChar }) =>
      evidence.some((quote) => (startChar ?? 0) >= quote.startChar && (endChar ?? 0) <= quote.endChar),
    );
    const [only] = quoted;
    return only && new Set(quoted.map(identityOf)).size === 1 ? only.ref : null;
  }

  /** Clues decide comparisons of names, so each must occur in the document: the model's word is not enough. */
  #cluesOf(fields: Fields): ContextClues {
    const nested = fieldsOf(fieldOf(fields, 'context_clues context attributes')) ?? none;
    const all = new Map([...nested, ...fields]);
    const clue = (longest: number, keys: string): string | null => {
      const text = textField(all, longest, keys);
      return text !== null && this.#occurrences.has(text) ? text : null;
    };
    const role = clue(longestName, 'role title position');
    const organization = clue(longestName, 'organization organisation company org employer');
    const email = clue(254, 'email mail e-mail email_address');
    return {
      ...(role === null ? {} : { role }),
      ...(organization === null ? {} : { organization }),
      ...(email !== null && /.@./.test(email) ? { email: email.toLowerCase() } : {}),
    };
  }

  #eventOf(entry: unknown): ReadEvent | null {
    const fields = fieldsOf(entry);
    if (!fields) return this.#drop('event-no-object');
    const category = readCategory(fieldOf(fields, 'category type event_type kind'));
    if (category === null) return this.#drop('event-category-unknown');
    const { evidence, rejected } = this.#evidenceOf(fields);
    const [first] = evidence;
    if (!first) return this.#drop('event-quote-not-in-text');
    this.#drop('quote-not-in-text', rejected);
    const subject = textField(fields, longestName, 'subject topic object about');
    const subjectRef = this.#refOf(subject, evidence);
    return {
      category,
      eventTime: timeOf(textField(fields, 40, 'event_time time date due_date when timestamp')),
      narrative: textField(fields, 500, 'narrative summary description event text') ?? first.quote,
      subjectRef,
      subject: this.#byId.get(subject ?? '')?.canonicalSuggestion ?? subject,
      actors: this.#actorsOf(fields, evidence),
      evidence,
      confidence: shareField(fields, 0.8),
    };
  }

  #evidenceOf(fields: Fields): { readonly evidence: ReadEvent['evidence']; readonly rejected: number } {
    const { text, startChar } = this.#chunk;
    const given = listField(fields, 'evidence evidence_quote quote quotes evidence_quotes source_quote');
    const places = new Map<number, TextSpan>();
    let rejected = 0;
    for (const one of this.#first(given, maxQuotes, 'quotes-too-many')) {
      const inner = fieldsOf(one);
      const quote = inner ? fieldOf(inner, 'quote text evidence span') : one;
      const place = typeof quote === 'string' ? this.#finder.find(quote) : null;
      if (place) places.set(place.start, quoteRange(text, place));
      else rejected += 1;
    }
    const evidence = [...places.values()].map(({ start, end }) => ({
      quote: text.slice(start, end),
      startChar: startChar + start,
      endChar: startChar + end,
    }));
    return { evidence, rejected };
  }

  /** Actors without a mention are dropped. */
  #actorsOf(fields: Fields, evidence: ReadEvent['evidence']): ReadEvent['actors'] {
    const found = new Map<string, ReadEvent['actors'][number]>();
    const given = listField(fields, 'actors actor participants people who');
    for (const one of this.#first(given, maxActors, 'actors-too-many')) {
      const actor = fieldsOf(one);
      const text = typeof one === 'string' ? one.trim() : null;
      const name = actor
        ? textField(actor, longestName, 'mention id ref mention_id name canonical_name actor entity person')
        : text;
      const ref = this.#refOf(name, evidence);
      if (ref === null) this.#drop('actor-not-mentioned');
      else if (!found.has(ref))
        found.set(ref, { ref, role: readRole(actor && fieldOf(actor, 'role type')) ?? 'contributor' });
    }
    return [...found.values()];
  }
}

interface NamedEntry {
  readonly fields: Fields;
  readonly surface: string | null;
  readonly canonical: string;
}

/** Mentions that a name may refer to. */
interface Namesakes {
  readonly first: EntityMention;
  readonly identity: string;
  /** Whether all have the same name and clues: entity resolution gives them one entity. */
  areOne: boolean;
  readonly all: EntityMention[];
}

const identityOf = ({ canonicalSuggestion, contextClues }: EntityMention): string =>
  JSON.stringify([canonicalSuggestion.toLowerCase(), contextClues]);

/** A date or timestamp between 1900 and 2200. */
function timeOf(text: string | null): Date | null {
  if (text === null || !/^\d{4}-\d{2}(?:-\d{2})?/.test(text)) return null;
  const date = new Date(text.length === 7 ? `${text}-01` : text);
  const year = date.getUTCFullYear();
  return Number.isNaN(year) || year < 1900 || year >= 2200 ? null : date;
}

/** One line of text, or null. */
function textField(fields: Fields, longest: number, keys: string): string | null {
  const value = fieldOf(fields, keys);
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return null;
  const line = text.replaceAll(/\s+/g, ' ').trim();
  const isNothing = line === '' || /^(?:null|none|n\/a|unknown|not specified|-)$/i.test(line);
  return isNothing ? null : line.slice(0, longest).toWellFormed();
}

/** A list; a single value becomes a list of one, a missing one an empty list. */
function listField(fields: Fields, keys: string): readonly unknown[] {
  const value = fieldOf(fields, keys);
  if (Array.isArray(value)) return value;
  if (value === undefined || value === null || value === '') return [];
  // {"alice": {…}, "bob": {…}}: the keys are names.
  if (isRecord(value) && Object.values(value).every(isRecord) && Object.keys(value).length > 0)
    return Object.entries(value).map(([name, one]) => ({ name, ...(one as object) }));
  return [value];
}

const shareWords = new Map([
  ['high', 0.9],
  ['medium', 0.7],
  ['low', 0.4],
]);

/** The confidence from 0 to 1; percentages and words are converted. */
function shareField(fields: Fields, fallback: number): number {
  const value = fieldOf(fields, 'confidence score');
  const text = typeof value === 'string' ? value : '';
  const number =
    typeof value === 'number' ? value : (shareWords.get(text.toLowerCase()) ?? Number.parseFloat(text));
  if (!Number.isFinite(number) || number < 0) return fallback;
  return Math.min(1, number > 1 ? number / 100 : number);
}

const synonyms = <Word extends string>(lists: Readonly<Record<Word, string>>): ReadonlyMap<string, Word> =>
  new Map(
    Object.entries<string>(lists).flatMap(([word, others]) =>
      [word, ...others.split(' ')].map((other) => [plainKey(other), word as Word] as const),
    ),
  );

const categories = synonyms<EventCategory>({
  Commitment:
    'action actionitem task promise todo deliverable assignment goal plan nextstep deadline obligation',
  Execution:
    'completion progress status update done implementation delivery achievement milestone action-completed accomplishment',
  Decision: 'agreement resolution choice approval conclusion determination selection',
  Collaboration: 'meeting coordination teamwork cooperation discussion communication',
  QualityRisk:
    'risk concern issue problem bug blocker quality incident warning threat defect quality_risk impediment',
  Feedback: 'request suggestion opinion comment review recommendation question complaint praise input',
  Change: 'modification revision adjustment amendment reschedule',
  Stakeholder: 'partner partnership customer external client investor announcement relationship',
});

const types = synonyms<EntityType>({
  person:
    'people human individual per pers employee user name personname fullname colleague contact man woman speaker author participant attendee stakeholder staff character',
  organization:
    'org organisation company team department institution group vendor customer corporation business enterprise firm agency startup supplier partner competitor client university school bank government committee board division unit squad brand organizationname companyname',
  project:
    'initiative product program programme campaign workstream feature epic sprint release effort projectname',
  object:
    'thing tool system document software technology artifact service concept item application app platform api database model dataset file report device component hardware equipment topic resource framework library website metric',
  place:
    'location city country gpe loc site region address venue office building area state province facility fac geopoliticalentity locality street',
  other: 'misc miscellaneous event date unknown time money number quantity percent law norp none',
});

const roles = synonyms<ActorRole>({
  owner: 'lead responsible decider author assignee decisionmaker accountable initiator',
  contributor: 'participant member implementer worker collaborator executor helper actor',
  reviewer: 'approver checker evaluator critic',
  stakeholder: 'recipient customer affected informed sponsor requester audience',
  other: 'unknown mentioned',
});

const known =
  <Word>(words: ReadonlyMap<string, Word>) =>
  (value: unknown): Word | null => {
    // ["person"], "B-PER" and "person (engineer)": the first known word decides.
    const first: unknown = Array.isArray(value) ? value[0] : value;
    const text = typeof first === 'string' ? first.slice(0, 60) : '';
    for (const each of [text, ...text.split(/[^\p{L}]+/u)]) {
      const word = plainKey(each);
      const found =
        words.get(word) ?? words.get(word.replace(/s$/, '')) ?? words.get(word.replace(/ies$/, 'y'));
      if (found !== undefined) return found;
    }
    return null;
  };

/** Null for an unknown word. */
const readCategory = known(categories);
export const readType = known(types);
const readRole = known(roles);
