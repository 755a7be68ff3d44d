// JSON values of unknown shape: what callers and providers send.
import { countValues, isNestedDeeper, parseJson } from '../../core/index.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined;
}

/** How much JSON is parsed on the main thread: at most this many values, of which a name counts this much more. */
export interface JsonLimits {
  readonly values: number;
  readonly nameWeight: number;
}

/**
 * Embeddings of token ids have up to 300,000. Members of objects take about as long to parse as five numbers, because of
 * their names.
 */
export const usualLimits: JsonLimits = { values: 500_000, nameWeight: 4 };

/** Whether it would take too long to parse all of these texts. */
export function hasTooMuchJson(texts: readonly string[]): boolean {
  const { values, nameWeight } = usualLimits;
  let left = values;
  // Each value takes a character.
  if (texts.reduce((sum, { length }) => sum + length, 0) * (1 + nameWeight) <= values) return false;
  return texts.some((text) => (left -= countValues(text, left, nameWeight)) < 0);
}

/** Writing JSON needs the stack, which has room for 4,400 levels. */
const maxWrittenNesting = 1_000;

/** Whether it is nested too deeply to be written again. */
const isTooDeep = (text: string): boolean =>
  // Each level takes two characters.
  text.length > 2 * maxWrittenNesting && isNestedDeeper(text, maxWrittenNesting);

export const isObjectText = (text: string): boolean => /^\s*\{/.test(text);

/** The object that a text contains as JSON; undefined for anything else, and for one that is too large or too deep. */
export const parseObject = (text: string): JsonObject | undefined =>
  isObjectText(text) && !hasTooMuchJson([text]) && !isTooDeep(text) ? asObject(parseJson(text)) : undefined;

/** The objects of a list; empty for anything else. */
export function objectsIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((item): item is JsonObject => asObject(item) !== undefined) : [];
}

export const textIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

export const numberIn = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

export const booleanIn = (value: unknown): boolean | undefined =>
  typeof value === 'boolean' ? value : undefined;

/** The members that an API does not define. */
export function fieldsBeyond(json: JsonObject, known: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(json).filter(([name]) => !known.has(name)));
}

export interface InlineData {
  readonly mediaType: string;
  /** Base64. */
  readonly data: string;
}

/** Undefined for other URLs and for data that is not in base64. */
export function parseDataUrl(url: string): InlineData | undefined {
  if (!url.startsWith('data:')) return undefined;
  const comma = url.indexOf(',');
  const [mediaType = '', ...parameters] = url.slice('data:'.length, comma).split(';');
  return comma > 0 && parameters.includes('base64') ? { mediaType, data: url.slice(comma + 1) } : undefined;
}

export const dataUrl = ({ mediaType, data }: InlineData): string => `data:${mediaType};base64,${data}`;

/** Without the members that are undefined. */
export function withoutUndefined<T extends object>(
  object: T,
): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as never;
}
