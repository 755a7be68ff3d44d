// Answers fit into a model's context: long texts are cut, long lists end early, and both say so.

/** Characters of JSON that a list may take; about ten thousand tokens. */
const listBudget = 40_000;

/** The beginning of the list that fits; at least one. */
export function fitting<Item>(items: readonly Item[], budget = listBudget): readonly Item[] {
  let size = 0;
  const end = items.findIndex((item, index) => {
    size += JSON.stringify(item).length;
    return index > 0 && size > budget;
  });
  return end === -1 ? items : items.slice(0, end);
}

/** The text, or its beginning and how much is missing. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const { text: beginning } = windowOf(text, 0, most);
  return `${beginning}… [${text.length - beginning.length} more characters]`;
}

/** What several have to say about what is missing; null when none has. */
export const inOneNote = (...parts: readonly (string | null)[]): string | null =>
  parts.filter((part) => part !== null).join(' ') || null;

export interface TextWindow {
  readonly text: string;
  /** Where to read on; null at the end. */
  readonly next: number | null;
}

/** A part of the text that does not split a character. Offsets count UTF-16 units, as everywhere in the API. */
export function windowOf(text: string, offset: number, length: number): TextWindow {
  const start = isSplit(text, offset) ? offset - 1 : offset;
  const wanted = Math.min(text.length, start + length);
  // A window of one unit must still move on.
  const end = isSplit(text, wanted) ? (wanted - 1 > start ? wanted - 1 : wanted + 1) : wanted;
  return { text: text.slice(start, end), next: end < text.length ? end : null };
}

/** Is there a pair of surrogates around this place? */
function isSplit(text: string, at: number): boolean {
  if (at <= 0 || at >= text.length) return false;
  const [before, after] = [text.charCodeAt(at - 1), text.charCodeAt(at)];
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}
