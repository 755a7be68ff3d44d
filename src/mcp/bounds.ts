// Results fit into a model's context: long texts are cut, long lists end early, and both add a note.

/** Characters of JSON that a list may take; about ten thousand tokens. */
const listBudget = 40_000;

/** The beginning of the list that fits; at least one item. */
export function fitting<Item>(items: readonly Item[], budget = listBudget): Item[] {
  let size = 0;
  const end = items.findIndex((item, index) => {
    size += JSON.stringify(item).length;
    return index > 0 && size > budget;
  });
  return items.slice(0, end === -1 ? items.length : end);
}

/** The text, or its beginning and how much is missing. */
export function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const { text: beginning } = windowOf(text, 0, maxLength);
  return `${beginning}… [${text.length - beginning.length} more characters]`;
}

export interface Bounded<T> {
  readonly value: T;
  /** `Left out: 3 further aliases.`; null: nothing. */
  readonly leftOut: string | null;
}

/** The value with texts cut and lists shortened, except the list that is named. */
export function bounded<T>(
  value: T,
  {
    maxText = 500,
    maxItems = 20,
    except = '',
  }: { maxText?: number; maxItems?: number; except?: string } = {},
): Bounded<T> {
  const leftOut = new Map<string, number>();
  const bound = (each: unknown, name: string): unknown => {
    if (typeof each === 'string') return cut(each, maxText);
    if (Array.isArray(each)) {
      const shown = name === except ? each : each.slice(0, maxItems);
      if (shown.length < each.length)
        leftOut.set(name, (leftOut.get(name) ?? 0) + each.length - shown.length);
      return shown.map((item: unknown) => bound(item, name));
    }
    if (typeof each !== 'object' || each === null) return each;
    return Object.fromEntries(Object.entries(each).map(([key, item]) => [key, bound(item, key)]));
  };
  const shortened = bound(value, '') as T;
  const parts = [...leftOut].map(([name, count]) => `${count} further ${name}`);
  return { value: shortened, leftOut: parts.length === 0 ? null : `Left out: ${parts.join(', ')}.` };
}

/** Several notes as one; null when there are none. */
export const joinNotes = (...notes: readonly (string | null)[]): string | null =>
  notes.filter((note) => note !== null).join(' ') || null;

export interface TextWindow {
  readonly text: string;
  /** Offset of the rest; null at the end. */
  readonly next: number | null;
}

/** A part of the text that does not split a character. Offsets count UTF-16 units, as everywhere in the API. */
export function windowOf(text: string, offset: number, length: number): TextWindow {
  const start = isSplit(text, offset) ? offset - 1 : offset;
  const requested = Math.min(text.length, start + length);
  // A window of one unit must still advance.
  const end = isSplit(text, requested) ? (requested - 1 > start ? requested - 1 : requested + 1) : requested;
  return { text: text.slice(start, end), next: end < text.length ? end : null };
}

/** Is there a pair of surrogates around this offset? */
function isSplit(text: string, at: number): boolean {
  if (at <= 0 || at >= text.length) return false;
  const [before, after] = [text.charCodeAt(at - 1), text.charCodeAt(at)];
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}
