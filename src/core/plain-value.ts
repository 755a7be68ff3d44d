// Turns any value into plain JSON-like data for logs, responses and stores.
import { kindOf } from './errors.ts';

export interface PlainValueRules {
  /** Applied to every string, keys included. */
  readonly text?: (text: string) => string;
  /** Replaces the value of a field; `undefined` keeps it. */
  readonly field?: (key: string, value: unknown) => unknown;
  /** Whether errors keep their stack. Default: no. */
  readonly stacks?: boolean;
}

const maxDepth = 50;

/**
 * A copy in which errors are objects of class, code, message and cause, dates ISO strings, bytes their length, maps
 * objects, and sets arrays. Circular references and levels below 50 become a note. Never throws, even if a getter or
 * `toJSON` does.
 */
export function plainValue(value: unknown, rules: PlainValueRules = {}): unknown {
  return copy(value, rules, []);
}

function copy(value: unknown, rules: PlainValueRules, path: readonly object[]): unknown {
  if (typeof value === 'string') return rules.text ? rules.text(value) : value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'boolean' || value === null) return value;
  if (typeof value !== 'object') return undefined;
  if (path.includes(value)) return '[circular]';
  if (path.length >= maxDepth) return '[too deep]';
  try {
    return copyObject(value, rules, [...path, value]);
  } catch {
    return '[unreadable]';
  }
}

function copyObject(value: object, rules: PlainValueRules, path: readonly object[]): unknown {
  if (value instanceof Error) return copyError(value, rules, path);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) return value.map((item) => copy(item, rules, path) ?? null);
  if (value instanceof Set) return Array.from(value, (item) => copy(item, rules, path) ?? null);
  if (value instanceof Map)
    return copyFields(
      [...value].map(([key, item]) => [String(key), item]),
      rules,
      path,
    );
  const toJSON: unknown = (value as { toJSON?: unknown }).toJSON;
  if (typeof toJSON === 'function') return copy(toJSON.call(value), rules, path);
  return copyFields(Object.entries(value), rules, path);
}

function copyError(error: Error, rules: PlainValueRules, path: readonly object[]): unknown {
  const kind = kindOf(error);
  const several = error instanceof AggregateError ? error.errors : undefined;
  return copyFields(
    [
      ['class', error.name],
      ['code', kind === error.name ? undefined : kind],
      ['message', error.message],
      ['stack', rules.stacks ? error.stack : undefined],
      ['cause', error.cause],
      ['errors', several],
    ],
    rules,
    path,
  );
}

function copyFields(
  fields: readonly (readonly [string, unknown])[],
  rules: PlainValueRules,
  path: readonly object[],
): Record<string, unknown> {
  const kept: [string, unknown][] = [];
  for (const [key, item] of fields) {
    const decided = rules.field?.(key, item);
    const plain = decided === undefined ? copy(item, rules, path) : decided;
    if (plain !== undefined) kept.push([rules.text ? rules.text(key) : key, plain]);
  }
  return Object.fromEntries(kept);
}
