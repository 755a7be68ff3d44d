// A model that reads: names it has heard of, and what happened by the verb. It understands nothing, but answers to the point.
import { firstPerson, happenings } from './happenings.ts';
import type { KnownName } from './ports.ts';

interface Message {
  readonly content?: unknown;
}

/** Null when the question is neither of the two that knowledge asks: what is in a text, and whom a name means. */
export function readingOf(messages: readonly Message[], knows: readonly KnownName[]): object | null {
  for (const { content } of messages) {
    if (typeof content !== 'string') continue;
    const document = between(content, 'document') as AskedDocument | null;
    if (typeof document?.text === 'string') return read(document.text, document.beginning ?? '', knows);
    const question = between(content, 'data') as AskedNames | null;
    if (question?.mention && Array.isArray(question.candidates)) return decide(question, knows);
  }
  return null;
}

interface AskedDocument {
  readonly text?: unknown;
  readonly beginning?: string | null;
}

interface AskedNames {
  readonly mention?: Named;
  readonly candidates?: readonly Named[];
}

interface Named {
  readonly name?: string;
  readonly otherNames?: readonly string[];
}

/** The JSON between `<mark>` and `</mark>`. */
function between(content: string, mark: string): unknown {
  const [, inside] = new RegExp(`<${mark}>\\n([\\s\\S]*)\\n</${mark}>`).exec(content) ?? [];
  if (inside === undefined) return null;
  try {
    return JSON.parse(inside) as unknown;
  } catch {
    return null;
  }
}

interface Found {
  readonly known: KnownName;
  readonly spelling: string;
  readonly at: number;
}

function read(text: string, beginning: string, knows: readonly KnownName[]): object {
  const everybody = [...knows, ...strangersIn(text, knows)];
  const [, from = ''] = /^From:\s*(.+)$/m.exec(`${beginning}\n${text}`) ?? [];
  const author = namesIn(from, knows).find(({ known }) => known.type === 'person')?.known;
  const events = happenings(text).map(({ category, sentence, quote, day }) => {
    const inIt = namesIn(sentence, everybody).map(({ known }) => known);
    const people = inIt.filter(({ type }) => type === 'person');
    const who = author && firstPerson.test(sentence) ? [author, ...people] : people;
    return {
      category,
      narrative: sentence,
      event_time: day,
      subject: inIt.find(({ type }) => type !== 'person')?.name ?? null,
      actors: [...new Set(who)].map(({ name }, index) => ({
        name,
        role: index === 0 ? 'owner' : 'contributor',
      })),
      evidence: [quote],
      confidence: 0.9,
    };
  });
  const mentions = namesIn(text, everybody).map(mentionOf);
  return { mentions, events: events.filter(({ actors }) => actors.length > 0) };
}

/** `T. Herrera`: somebody, but who? */
const shortName = /(?<![\p{L}.])\p{Lu}\. \p{Lu}[\p{L}'’-]+/gu;

function strangersIn(text: string, knows: readonly KnownName[]): readonly KnownName[] {
  const spellings = new Set(knows.flatMap(({ name, also }) => [name, ...also]));
  return [...new Set(text.match(shortName) ?? [])]
    .filter((name) => !spellings.has(name))
    .map((name) => ({ name, also: [], type: 'person' }));
}

function mentionOf({ known, spelling }: Found): object {
  const { name, type, role = null, organization = null, email = null } = known;
  return { name: spelling, canonical_name: name, type, role, organization, email };
}

/** Each known name once, where it first stands; what is part of a longer known name does not count. */
function namesIn(text: string, knows: readonly KnownName[]): readonly Found[] {
  const spellings = knows
    .flatMap((known) => [known.name, ...known.also].map((spelling) => ({ known, spelling })))
    .sort((a, b) => b.spelling.length - a.spelling.length);
  const found = new Map<KnownName, Found>();
  let left = text;
  for (const { known, spelling } of spellings) {
    const at = placeOf(spelling, left);
    if (at === -1) continue;
    left = left.replaceAll(spelling, ' '.repeat(spelling.length));
    const before = found.get(known);
    if (!before || at < before.at) found.set(known, { known, spelling, at });
  }
  return [...found.values()].sort((a, b) => a.at - b.at);
}

/** Where it stands as words of its own; -1 if nowhere. */
function placeOf(spelling: string, text: string): number {
  for (let at = text.indexOf(spelling); at !== -1; at = text.indexOf(spelling, at + 1)) {
    const around = (text[at - 1] ?? ' ') + (text[at + spelling.length] ?? ' ');
    if (!/[\p{L}\p{N}]/u.test(around)) return at;
  }
  return -1;
}

/** Of a person it must have heard more than the name to tell two apart. */
const isFamiliar = (known: KnownName | undefined): boolean =>
  known !== undefined && (known.type !== 'person' || known.email !== undefined);

/** The same if it knows both names to be one; different if it knows them to be two; else it cannot tell. */
function decide({ mention, candidates = [] }: AskedNames, knows: readonly KnownName[]): object {
  const who = (named: Named | undefined): KnownName | undefined => {
    const names = [named?.name, ...(named?.otherNames ?? [])].map((name) => name?.toLowerCase());
    return knows.find((known) =>
      [known.name, ...known.also].some((spelling) => names.includes(spelling.toLowerCase())),
    );
  };
  const meant = who(mention);
  const others = candidates.map(who);
  const same = meant ? others.indexOf(meant) : -1;
  if (meant && same !== -1)
    return {
      decision: 'same',
      candidate: same + 1,
      canonical_name: meant.name,
      reason: `Both are ways to write ${meant.name}.`,
    };
  const areAllKnown = [meant, ...others].every(isFamiliar);
  return {
    decision: areAllKnown ? 'different' : 'uncertain',
    candidate: null,
    canonical_name: mention?.name ?? '',
    reason: areAllKnown ? 'They are known to be others.' : 'The data do not tell.',
  };
}
