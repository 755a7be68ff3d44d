// Text for output and storage: sizes, durations, counts, shell words, the case of names, and suggestions for mistyped names;
// and a bound for the number of values in a JSON text.

const byteUnits = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** A size in binary units with at most one decimal: `512 bytes`, `1.5 KiB`, `10 MiB`. */
export function formatBytes(bytes: number): string {
  let power = Math.max(
    byteUnits.findLastIndex((_, index) => bytes >= 1_024 ** index),
    0,
  );
  let size = Math.round((bytes / 1_024 ** power) * 10) / 10;
  // 1,048,575 bytes round up to 1024 KiB, which is 1 MiB.
  if (size >= 1_024 && power < byteUnits.length - 1) {
    size = 1;
    power += 1;
  }
  return `${power === 0 ? Math.round(size) : size} ${size === 1 && power === 0 ? 'byte' : byteUnits[power]}`;
}

const timeUnits = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** `70 ms`, `2.1 s`, `40 s`, `3 min 5 s`, `2 d 4 h`: the two largest units. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 9_950) return `${Number((ms / 1_000).toFixed(1))} s`;
  return formatWholeSeconds(ms);
}

/** US dollars: `12.50`, `0.0012`; a dash for null. Costs of single requests are small: two digits of them are shown. */
export function formatUsd(usd: number | null): string {
  if (usd === null) return '–';
  const decimals = usd === 0 || usd >= 0.1 ? 2 : Math.min(12, 1 - Math.floor(Math.log10(usd)));
  return usd.toFixed(decimals);
}

/** `0 s`, `40 s`, `2 h 5 min`: for a time that moves on. The `max` largest units. */
export function formatWholeSeconds(ms: number, max = 2): string {
  let rest = Math.max(0, Math.round(ms / 1_000));
  const parts: string[] = [];
  const first = timeUnits.findIndex(([, seconds]) => rest >= seconds);
  for (const [unit, seconds] of first < 0 ? [] : timeUnits.slice(first, first + max)) {
    const count = Math.floor(rest / seconds);
    if (count > 0) parts.push(`${count} ${unit}`);
    rest -= count * seconds;
  }
  return parts.length === 0 ? '0 s' : parts.join(' ');
}

export const plural = (count: number, one: string, many = `${one}s`): string => (count === 1 ? one : many);

/** `1 mention`, `1,200 mentions`; `many` for words that do not just take an s. */
export const counted = (count: number, one: string, many?: string): string =>
  `${count.toLocaleString('en')} ${plural(count, one, many)}`;

const camelCaseName = /^[a-z][a-zA-Z0-9]*$/;
const snakeCaseName = /^[a-z][a-z0-9_]*$/;

/** `retryAfterMs` → `retry_after_ms`. A name that is not camelCase is returned unchanged. */
export function toSnakeCase(name: string): string {
  if (!camelCaseName.test(name)) return name;
  return name.replace(/[A-Z]+/g, (capitals) => `_${capitals.toLowerCase()}`);
}

/** `retry_after_ms` → `retryAfterMs`. A name that is not snake_case is returned unchanged. */
export function toCamelCase(name: string): string {
  if (!snakeCaseName.test(name)) return name;
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * A copy with every key in snake_case, up to 20 levels deep. Dates are kept. Use it only for objects of our own:
 * keys chosen by users must keep their spelling.
 */
export const snakeCaseKeys = (value: unknown): unknown => mapKeys(value, toSnakeCase, 0);

/** A copy with every key in camelCase, up to 20 levels deep. Dates are kept. */
export const camelCaseKeys = (value: unknown): unknown => mapKeys(value, toCamelCase, 0);

function mapKeys(value: unknown, rename: (name: string) => string, depth: number): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date || depth > 20) return value;
  if (Array.isArray(value)) return value.map((item) => mapKeys(item, rename, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [rename(name), mapKeys(item, rename, depth + 1)]),
  );
}

/** Postgres stores neither NUL nor half a surrogate pair; a text that is too long is cut with an ellipsis. */
export function storableText(text: string, maxLength: number): string {
  const valid = text.replaceAll('\0', '').toWellFormed();
  return valid.length <= maxLength ? valid : `${valid.slice(0, maxLength - 1).toWellFormed()}…`;
}

/** One character for each byte: the fastest way to search bytes, and to compare them. */
export const latin1Of = (bytes: Uint8Array): string =>
  (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).toString(
    'latin1',
  );

/** Undecodable text is returned unchanged. */
export function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** One word for a POSIX shell, quoted if needed. */
export function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Share of letter pairs in common (Sørensen–Dice). */
const minSimilarity = 0.5;
/** Share of letters that stay the same. */
const minUnchanged = 2 / 3;
const maxSuggestions = 3;
/** A shorter text is part of nearly every name. */
const minPartLength = 3;

/**
 * Names that contain the typed text, share half of its letter pairs (names share stems, not beginnings), or differ in
 * less than a third of the letters. The most similar first, three at most. Case and punctuation do not count.
 */
export function nearNames(typed: string, names: Iterable<string>): readonly string[] {
  const text = normalize(typed);
  const scored = [...new Set(names)].map((name) => ({ name, score: scoreOf(text, normalize(name)) }));
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1))
    .slice(0, maxSuggestions)
    .map(({ name }) => name);
}

/** The most similar name, if one is near. */
export function nearest(typed: string, names: Iterable<string>): string | undefined {
  return nearNames(typed, names)[0];
}

/** To follow the name of a function or object: `has no option "prot"; did you mean "port"? Options: host, port`. */
export function unknownOption(name: string, known: readonly string[]): string {
  const similar = nearest(name, known);
  const suggestion = similar === undefined ? '.' : `; did you mean "${similar}"?`;
  return `has no option "${name}"${suggestion} Options: ${known.join(', ')}`;
}

const normalize = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/** Similarity of the two; 0: not near. */
function scoreOf(text: string, name: string): number {
  const similarity = similarityOf(pairsOf(text), pairsOf(name));
  if (text.length >= minPartLength && name.includes(text)) return 1 + similarity;
  const unchanged = 1 - editDistance(text, name) / Math.max(text.length, name.length, 1);
  return Math.max(similarity >= minSimilarity ? similarity : 0, unchanged >= minUnchanged ? unchanged : 0);
}

function similarityOf(some: ReadonlySet<string>, others: ReadonlySet<string>): number {
  return (2 * some.intersection(others).size) / (some.size + others.size || 1);
}

function pairsOf(text: string): ReadonlySet<string> {
  return new Set(Array.from({ length: Math.max(text.length - 1, 0) }, (_, at) => text.slice(at, at + 2)));
}

/** The number of letters to add, remove, replace or swap with the next one (optimal string alignment). */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const change = from[row - 1] === to[column - 1] ? 0 : 1;
      let distance = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + change,
      );
      if (row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1])
        distance = Math.min(distance, at(beforeLast, column - 2) + 1);
      current.push(distance);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

const at = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY;

/** Ten thousand mentions of a document have about 60,000. */
export const maxJsonValues = 100_000;

const [quote, comma, colon, backslash, openBracket, openBrace, closeBracket, closeBrace] = Array.from(
  '",:\\[{]}',
  (sign) => sign.charCodeAt(0),
);

/**
 * Whether it has more values than `max`. Strings are skipped, so that their length hardly counts; it need not be valid. A member of
 * an object counts `nameWeight` more: names that all differ take longer to parse than anything else.
 */
export function hasMoreValues(json: string, max: number, nameWeight = 0): boolean {
  // Each value takes a character.
  return json.length * (1 + nameWeight) > max && countValues(json, max, nameWeight) > max;
}

/** As `hasMoreValues` counts them, up to one that is above `max`. */
export function countValues(json: string, max: number, nameWeight = 0): number {
  let values = 0;
  for (let at = 0; at < json.length; at++) {
    const sign = json.charCodeAt(at);
    if (sign === quote) at = endOfString(json, at);
    else if (sign === comma || sign === openBracket || sign === openBrace) values++;
    else if (sign === colon) values += nameWeight;
    else continue;
    if (values > max) return values;
  }
  return values;
}

/** Whether objects and arrays are nested deeper than `max`. Strings are skipped; it need not be valid. */
export function isNestedDeeper(json: string, max: number): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const sign = json.charCodeAt(at);
    if (sign === quote) at = endOfString(json, at);
    else if (sign === openBracket || sign === openBrace) {
      if (++depth > max) return true;
    } else if (sign === closeBracket || sign === closeBrace) depth--;
  }
  return false;
}

/** As many characters are scanned here before each native search: it takes longer to begin than to find a quote nearby. */
const scannedCharacters = 64;

function endOfString(json: string, start: number): number {
  for (let at = start + 1; ;) {
    for (const until = at + scannedCharacters; at < until; at++) {
      const sign = json.charCodeAt(at);
      if (sign === backslash) at++;
      else if (sign === quote) return at;
    }
    const end = json.indexOf('"', at);
    if (end < 0) return json.length;
    let before = end - 1;
    while (before >= at && json.charCodeAt(before) === backslash) before--;
    // An even number of backslashes escapes itself, not the quote.
    if ((end - 1 - before) % 2 === 0) return end;
    at = end + 1;
  }
}
