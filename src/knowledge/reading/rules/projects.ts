// Phrases that name projects: "data migration", "Mobile Redesign", "Project Apollo", "set up auto-scaling".
import { buildVerbs, plainEndings, projectEndings, wordKind } from '../../text/lexicon.ts';
import type { Word } from '../../text/spans.ts';

interface Phrase {
  readonly start: number;
  readonly end: number;
  /** In lower case, with single spaces. */
  readonly key: string;
  /** Required occurrences: 1, or 2 unless it is in the title or capitalized. */
  readonly need: 1 | 2;
}

const maxModifiers = 3;
/** Adjectives that are usually part of a name. */
const naming = new Set('mobile social digital internal global public annual central mutual'.split(' '));

/** By position. Words such as "new", "our" and "updated" are not part of a name. */
export function* projectPhrases(words: readonly Word[]): Generator<Phrase> {
  for (let at = 0; at < words.length; at++) {
    const phrase = namedProject(words, at) ?? endingPhrase(words, at) ?? builtThing(words, at);
    if (phrase) yield phrase;
  }
}

/** "Project Apollo". */
function namedProject(words: readonly Word[], at: number): Phrase | null {
  const head = words[at];
  if (head?.text !== 'Project') return null;
  const [name, more] = words.slice(at + 1, at + 3);
  if (!name?.isNext || !name.isCapital || isBinding(name.lower)) return null;
  const last = more?.isNext && more.isCapital && wordKind(more.lower) === undefined ? more : name;
  return phraseOf([head, name, ...(last === name ? [] : [last])], 1);
}

function endingPhrase(words: readonly Word[], at: number): Phrase | null {
  const head = words[at];
  if (!head || !projectEndings.has(head.lower)) return null;
  let first = at;
  while (first > 0 && at - first < maxModifiers && words[first]?.isNext) {
    const modifier = words[first - 1];
    if (!modifier || !isModifier(modifier, head, first === at)) break;
    first--;
  }
  return first === at ? null : phraseOf(words.slice(first, at + 1), plainEndings.has(head.lower) ? 2 : 1);
}

function isModifier({ lower, isCapital, isFirst }: Word, head: Word, isNearest: boolean): boolean {
  if (/^[\d.,]+$/.test(lower)) return false;
  if (naming.has(lower)) return true;
  const isTitled = isCapital && head.isCapital;
  const kind = wordKind(lower);
  if (kind === 'function' || kind === 'past') return false;
  if (kind === 'adjective') return isTitled && !isFirst;
  if (kind === 'given') return isTitled;
  return kind !== 'verb' || (isNearest && !isFirst);
}

/** An unknown word as the object of a build verb: accepted only if it occurs again. */
function builtThing(words: readonly Word[], at: number): Phrase | null {
  if (!buildVerbs.has(words[at]?.lower ?? '')) return null;
  let next = at + 1;
  while (next < at + 3 && ['up', 'out', 'the', 'a', 'an', 'our', 'new'].includes(words[next]?.lower ?? ''))
    next++;
  const thing = words[next];
  if (!thing?.isNext || thing.isCapital || thing.lower.length < 5 || !thing.lower.includes('-')) return null;
  return phraseOf([thing], 2);
}

const isBinding = (lower: string): boolean => wordKind(lower) === 'function';

function phraseOf(words: readonly Word[], need: 1 | 2): Phrase | null {
  const [first] = words;
  const last = words.at(-1);
  if (!first || !last) return null;
  const isTitled = words.length > 1 && words.every(({ isCapital }) => isCapital);
  const key = words.map(({ lower }) => lower).join(' ');
  return { start: first.start, end: last.end, key, need: isTitled ? 1 : need };
}

/** Counts phrases of a document and selects projects among them. */
export class ProjectPhrases {
  readonly #seen = new Map<string, { count: number; need: number; name: string }>();

  add(words: readonly Word[], text: string): void {
    for (const { key, need, start, end } of projectPhrases(words)) {
      const name = text.slice(start, end);
      const seen = this.#seen.get(key);
      if (!seen) this.#seen.set(key, { count: 1, need, name });
      else {
        seen.count++;
        seen.need = Math.min(seen.need, need);
        if (/^\p{Lu}/u.test(name) && !/^\p{Lu}/u.test(seen.name)) seen.name = name;
      }
    }
  }

  /** Display names by key. */
  chosen(title: string): ReadonlyMap<string, string> {
    const lowerTitle = title.toLowerCase();
    const accepted = [...this.#seen].filter(
      ([key, { count, need }]) => count >= need || lowerTitle.includes(key),
    );
    return new Map(accepted.map(([key, { name }]) => [key, name]));
  }
}
