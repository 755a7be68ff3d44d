// The `fields` parameter: `id,title,folder(id,name)`.
import type { Json } from './items/item-context.ts';

type Fields = Map<string, Fields | null>;

/** Only the named fields of an item; fields that it does not have are left out. */
export function pickFields(item: Json, fields: string): Json {
  return pick(item, readFields(fields));
}

function readFields(text: string): Fields {
  const root: Fields = new Map();
  const open: Fields[] = [root];
  let last = '';
  for (const token of text.match(/[^,()\s]+|[()]/g) ?? []) {
    const here = open.at(-1) ?? root;
    if (token === '(') {
      const inner: Fields = new Map();
      here.set(last, inner);
      open.push(inner);
    } else if (token === ')') {
      if (open.length > 1) open.pop();
    } else {
      here.set(token, null);
      last = token;
    }
  }
  return root;
}

function pick(value: Json, fields: Fields): Json {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => {
      const wanted = fields.get(name);
      if (wanted === undefined) return [];
      return [[name, wanted === null ? inner : pickInside(inner, wanted)]];
    }),
  );
}

function pickInside(value: unknown, fields: Fields): unknown {
  if (Array.isArray(value)) return value.map((part: unknown) => pickInside(part, fields));
  return typeof value === 'object' && value !== null ? pick(value as Json, fields) : value;
}
