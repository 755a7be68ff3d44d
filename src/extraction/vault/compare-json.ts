// What is different between two JSON values, field by field.
import { canonicalJson, isLongNumber } from './canonical-json.ts';

export interface FieldChange {
  /** `query.fields[2]`; empty when the whole value is another kind of thing. */
  readonly path: string;
  readonly kind: 'added' | 'removed' | 'changed';
  /** Canonical JSON, cut; null for what was not there. */
  readonly from: string | null;
  readonly to: string | null;
}

const longestValue = 200;

/** At most `limit` changes, in the order of sorted keys. */
export function compareJson(from: unknown, to: unknown, limit = 50): readonly FieldChange[] {
  const changes: FieldChange[] = [];
  for (const change of differences(from, to, '')) {
    changes.push(change);
    if (changes.length === limit) break;
  }
  return changes;
}

function* differences(from: unknown, to: unknown, path: string): Generator<FieldChange> {
  if (isContainer(from) && isContainer(to) && Array.isArray(from) === Array.isArray(to)) {
    const isList = Array.isArray(from);
    for (const key of keysOf(from, to)) {
      const at = isList ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
      if (!Object.hasOwn(from, key)) yield { path: at, kind: 'added', from: null, to: shown(to[key]) };
      else if (!Object.hasOwn(to, key)) yield { path: at, kind: 'removed', from: shown(from[key]), to: null };
      else yield* differences(from[key], to[key], at);
    }
  } else if (canonicalJson(from) !== canonicalJson(to)) {
    yield { path, kind: 'changed', from: shown(from), to: shown(to) };
  }
}

type Container = Readonly<Record<string, unknown>>;

const isContainer = (value: unknown): value is Container =>
  typeof value === 'object' && value !== null && !isLongNumber(value);

function keysOf(from: Container, to: Container): readonly string[] {
  const keys = new Set([...Object.keys(from), ...Object.keys(to)]);
  return Array.isArray(from) ? [...keys] : [...keys].sort();
}

function shown(value: unknown): string {
  const text = canonicalJson(value);
  return text.length <= longestValue ? text : `${text.slice(0, longestValue - 1)}…`;
}
