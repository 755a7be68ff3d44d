// Text for output: sizes, shell words, and the case of names.

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

/** One word for a POSIX shell, quoted if needed. */
export function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
