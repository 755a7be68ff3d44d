// Reads single facts out of parsed JSON. What is not there, or is something else, is null: never a substitute.
import type { JsonPath } from '../ports.ts';

/** The value at the path; undefined when there is none. */
export function valueAt(value: unknown, path: JsonPath): unknown {
  let at = value;
  for (const name of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[name];
  }
  return at;
}

/** Text that is not empty, or a number as text. */
export function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value === '' ? null : value;
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : null;
}

/** A count: a whole number from 0, also when it is written as text. */
export function countOf(value: unknown): number | null {
  const count = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null;
}

/** A date alone, or with a time; a zone or none, which means UTC wherever this runs. */
const isoInstant =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)\s?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;

/** Numbers from here on are milliseconds, below seconds: 1e11 seconds is the year 5138, 1e11 ms is 1973. */
const firstMilliseconds = 1e11;

/** Epoch milliseconds of ISO 8601 text or of epoch seconds or milliseconds. */
export function instantOf(value: unknown): number | null {
  if (typeof value === 'number' && Number.isFinite(value) && value > 0)
    return Math.trunc(value < firstMilliseconds ? value * 1000 : value);
  return typeof value === 'string' ? isoMilliseconds(value) : null;
}

function isoMilliseconds(text: string): number | null {
  const [, date, time = '00:00', zone = 'Z'] = isoInstant.exec(text) ?? [];
  if (date === undefined) return null;
  const offset =
    zone.length === 3 ? `${zone}:00` : zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone;
  const ms = Date.parse(`${date}T${time}${offset.toUpperCase()}`);
  return Number.isNaN(ms) || !isInMonth(date) ? null : ms;
}

/** Date.parse takes 30 February for 1 March. */
function isInMonth(date: string): boolean {
  return date.slice(8) <= '28' || new Date(Date.parse(`${date}T00:00Z`) || 0).toISOString().startsWith(date);
}
