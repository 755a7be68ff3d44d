// A simulated model that reads documents for knowledge: finds configured names, and events by their verbs.
import { parseJson } from '../../core/index.ts';
import type { KnownName } from './scenario.ts';

interface Message {
  readonly content?: unknown;
}

/** Handles the two prompts of knowledge, reading a document and comparing names; null for any other prompt. */
export function readDocument(messages: readonly Message[], knownNames: readonly KnownName[]): object | null {
  for (const { content } of messages) {
    if (typeof content !== 'string') continue;
    const document = between(content, 'document') as DocumentPrompt | null;
    if (typeof document?.text === 'string') return read(document.text, document.beginning ?? '', knownNames);
    const comparison = between(content, 'data') as NamesPrompt | null;
    if (comparison?.mention && Array.isArray(comparison.candidates)) return decide(comparison, knownNames);
  }
  return null;
}

interface DocumentPrompt {
  readonly text?: unknown;
  readonly beginning?: string | null;
}

interface NamesPrompt {
  readonly mention?: Named;
  readonly candidates?: readonly Named[];
}

interface Named {
  readonly name?: string;
  readonly otherNames?: readonly string[];
}

/** The JSON between `<tag>` and `</tag>`. */
function between(content: string, tag: string): unknown {
  const [, inside] = new RegExp(`<${tag}>\\n([\\s\\S]*)\\n</${tag}>`).exec(content) ?? [];
  return inside === undefined ? null : (parseJson(inside) ?? null);
}

interface Found {
  readonly known: KnownName;
  readonly spelling: string;
  readonly at: number;
}

function read(text: string, beginning: string, knownNames: readonly KnownName[]): object {
  const names = [...knownNames, ...unknownNamesIn(text, knownNames)];
  const [, from = ''] = /^From:\s*(.+)$/m.exec(`${beginning}\n${text}`) ?? [];
  const author = namesIn(from, knownNames).find(({ known }) => known.type === 'person')?.known;
  const events = findEvents(text).map(({ category, sentence, quote, day }) => {
    const named = namesIn(sentence, names).map(({ known }) => known);
    const people = named.filter(({ type }) => type === 'person');
    const actors = author && firstPerson.test(sentence) ? [author, ...people] : people;
    return {
      category,
      narrative: sentence,
      event_time: day,
      subject: named.find(({ type }) => type !== 'person')?.name ?? null,
      actors: [...new Set(actors)].map(({ name }, index) => ({
        name,
        role: index === 0 ? 'owner' : 'contributor',
      })),
      evidence: [quote],
      confidence: 0.9,
    };
  });
  const mentions = namesIn(text, names).map(mentionOf);
  return { mentions, events: events.filter(({ actors }) => actors.length > 0) };
}

/** A person known by initial and surname only: `T. Herrera`. */
const shortName = /(?<![\p{L}.])\p{Lu}\. \p{Lu}[\p{L}'’-]+/gu;

function unknownNamesIn(text: string, knownNames: readonly KnownName[]): readonly KnownName[] {
  const spellings = new Set(knownNames.flatMap(({ name, aliases }) => [name, ...aliases]));
  return [...new Set(text.match(shortName) ?? [])]
    .filter((name) => !spellings.has(name))
    .map((name) => ({ name, aliases: [], type: 'person' }));
}

function mentionOf({ known, spelling }: Found): object {
  const { name, type, role = null, organization = null, email = null } = known;
  return { name: spelling, canonical_name: name, type, role, organization, email };
}

/** Each known name once, at its first occurrence; parts of a longer known name do not count. */
function namesIn(text: string, knownNames: readonly KnownName[]): readonly Found[] {
  const spellings = knownNames
    .flatMap((known) => [known.name, ...known.aliases].map((spelling) => ({ known, spelling })))
    .sort((a, b) => b.spelling.length - a.spelling.length);
  const found = new Map<KnownName, Found>();
  let left = text;
  for (const { known, spelling } of spellings) {
    const at = wordIndexOf(spelling, left);
    if (at === -1) continue;
    left = left.replaceAll(spelling, ' '.repeat(spelling.length));
    const before = found.get(known);
    if (!before || at < before.at) found.set(known, { known, spelling, at });
  }
  return [...found.values()].sort((a, b) => a.at - b.at);
}

/** The first occurrence as a whole word; -1 without one. */
function wordIndexOf(spelling: string, text: string): number {
  for (let at = text.indexOf(spelling); at !== -1; at = text.indexOf(spelling, at + 1)) {
    const around = (text[at - 1] ?? ' ') + (text[at + spelling.length] ?? ' ');
    if (!/[\p{L}\p{N}]/u.test(around)) return at;
  }
  return -1;
}

/** Two persons can be distinguished only if more than their names is known. */
const isFamiliar = (known: KnownName | undefined): boolean =>
  known !== undefined && (known.type !== 'person' || known.email !== undefined);

/** `same` if both names are of one entity, `different` if of two known ones, otherwise `uncertain`. */
function decide({ mention, candidates = [] }: NamesPrompt, knownNames: readonly KnownName[]): object {
  const entityOf = (named: Named | undefined): KnownName | undefined => {
    const names = [named?.name, ...(named?.otherNames ?? [])].map((name) => name?.toLowerCase());
    return knownNames.find((known) =>
      [known.name, ...known.aliases].some((spelling) => names.includes(spelling.toLowerCase())),
    );
  };
  const meant = entityOf(mention);
  const others = candidates.map(entityOf);
  const same = meant ? others.indexOf(meant) : -1;
  if (meant && same !== -1)
    return {
      decision: 'same',
      candidate: same + 1,
      canonical_name: meant.name,
      reason: `Both are spellings of ${meant.name}.`,
    };
  const areAllKnown = [meant, ...others].every(isFamiliar);
  return {
    decision: areAllKnown ? 'different' : 'uncertain',
    candidate: null,
    canonical_name: mention?.name ?? '',
    reason: areAllKnown ? 'They are different entities.' : 'The data are insufficient.',
  };
}

/* ---- events, sentence by sentence, by the first matching cue ---- */

interface FoundEvent {
  readonly category: string;
  readonly sentence: string;
  /** First 25 words of the sentence, verbatim. */
  readonly quote: string;
  /** `2026-11-20`, if the sentence contains a date. */
  readonly day: string | null;
}

const firstPerson = /\b(?:I|I'll|I've|we|We)\b/;

const cues: readonly (readonly [category: string, cue: RegExp])[] = [
  ['QualityRisk', /\b(?:contradicts?|do(?:es)? not match|wrong|risk|counted twice|worried)\b/i],
  ['Decision', /\b(?:decided|agreed|approved|settled)\b/i],
  ['Commitment', /\b(?:will|promised|promises|I'll|takes over)\b/i],
  ['Change', /\b(?:changed|renamed|moved|switched|replaced|is now)\b/i],
  ['Execution', /\b(?:finished|shipped|published|fixed|rebuilt|reconciled)\b/i],
  ['Feedback', /\b(?:asked|asks|requested|would like|wants)\b/i],
  ['Stakeholder', /\b(?:board|auditors?|investors?)\b/i],
];

const maxWords = 25;

function findEvents(text: string): readonly FoundEvent[] {
  return sentencesOf(text).flatMap((raw) => {
    const found = cues.find(([, cue]) => cue.test(raw));
    if (!found) return [];
    return [
      {
        category: found[0],
        sentence: raw.replaceAll(/\s+/g, ' '),
        quote: firstWords(raw),
        day: /\b\d{4}-\d{2}-\d{2}\b/.exec(raw)?.[0] ?? null,
      },
    ];
  });
}

const mailHead = /^\s*(?:From|To|Cc|Date|Subject): /;

/** List items and headings are sentences of their own; a period after an initial ends none. */
function sentencesOf(text: string): readonly string[] {
  return text
    .split(/\n\s*\n|\n(?=\s*(?:[-*#]|\w[\w. [\]-]*:))|(?<=[^\s.][a-z\d)"]{1,}[.!?])\s+(?=[\p{Lu}"])/u)
    .filter((part) => !mailHead.test(part))
    .map((part) => part.replace(/^\s*[-*#]+\s*/, '').trim())
    .filter((part) => part.split(/\s+/).length >= 4);
}

const firstWords = (text: string): string =>
  new RegExp(`^(?:\\S+\\s+){0,${maxWords - 1}}\\S+`).exec(text)?.[0] ?? text;
