// Finds where the names that a model lists stand in the text: as whole words, not inside another name, and each person of a
// shared name at an occurrence of their own.
import type { DocumentModel } from '../documents/document.ts';
import type { TextSpan, QuoteFinder } from '../text/quotes.ts';
import type { EntityMention } from './types.ts';

export class MentionPlacer {
  readonly #finder: QuoteFinder;
  readonly #text: string;
  readonly #occurrences = new Map<string, readonly TextSpan[]>();
  /** Free places of each name, best first; `next` is the one for the next mention. */
  readonly #free = new Map<string, { readonly places: readonly TextSpan[]; next: number }>();
  /** For each offset, the end of the longest name of the answer that starts there, and before it. */
  readonly #ends: Uint32Array;
  readonly #endsBefore: Uint32Array;

  /** `names`: all of the answer. None of them is placed inside a longer one. */
  constructor(finder: QuoteFinder, text: string, names: Iterable<string>) {
    this.#finder = finder;
    this.#text = text;
    this.#ends = new Uint32Array(text.length + 1);
    this.#endsBefore = new Uint32Array(text.length + 1);
    for (const name of new Set(names))
      for (const { start, end } of this.#all(name)) this.#ends[start] = Math.max(this.#ends[start] ?? 0, end);
    for (let at = 1; at <= text.length; at++)
      this.#endsBefore[at] = Math.max(this.#endsBefore[at - 1] ?? 0, this.#ends[at - 1] ?? 0);
  }

  /**
   * Each mention at an occurrence of its own, as long as there are any; `context` (words around the name) selects one.
   * Null when the name is not in the text, or only inside other names.
   */
  place(name: string, context: string | null): TextSpan | null {
    const around = context === null ? null : this.#finder.find(context);
    const surrounded =
      around && this.#all(name).find(({ start, end }) => start >= around.start && end <= around.end);
    if (surrounded) return surrounded;
    let free = this.#free.get(name);
    if (!free) this.#free.set(name, (free = { places: this.#outside(name), next: 0 }));
    return free.places[free.next++] ?? free.places[0] ?? null;
  }

  #all(name: string): readonly TextSpan[] {
    let all = this.#occurrences.get(name);
    if (!all) this.#occurrences.set(name, (all = this.#finder.occurrences(name)));
    return all;
  }

  /** Places outside of longer names; first those that stand alone: "Ann" before the "Ann" of "Mary Ann Lee". */
  #outside(name: string): readonly TextSpan[] {
    const outside = this.#all(name).filter(
      ({ start, end }) => (this.#ends[start] ?? 0) <= end && (this.#endsBefore[start] ?? 0) < end,
    );
    const isPart = (place: TextSpan): number => (isInCapitals(this.#text, place) ? 1 : 0);
    return outside.sort((a, b) => isPart(a) - isPart(b) || a.start - b.start);
  }
}

/** Next to another capitalized word, without punctuation in between. */
const isInCapitals = (text: string, { start, end }: TextSpan): boolean =>
  /^ \p{Lu}\p{Ll}/u.test(text.slice(end, end + 3)) ||
  /(?:^|[^.!?:;\s] )\p{Lu}\p{Ll}[\p{L}'’-]{0,30} $/u.test(text.slice(Math.max(0, start - 40), start));

/** A part of a name refers to the only person of the document who has it; if there are several, to none of them. */
export function withinDocument(mention: EntityMention, { annotations }: DocumentModel): EntityMention {
  const part = mention.canonicalSuggestion.toLowerCase();
  if (mention.type !== 'person' || /[\s@.]/.test(part)) return mention;
  if (annotations.roster.isShared(part)) return { ...mention, isAmbiguous: true };
  const person = annotations.roster.byPart(part);
  return person ? { ...mention, canonicalSuggestion: person.name } : mention;
}
