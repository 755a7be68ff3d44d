// One text for one JSON value, whatever the order of its keys and its white space.

/** Keys sorted by code unit, at every depth. `indent` as in JSON.stringify. */
export function canonicalJson(value: unknown, indent = 0): string {
  return JSON.stringify(withSortedKeys(value), null, indent);
}

/** Like JSON.parse, but numbers too long for a JavaScript number are kept as they are written. */
export function parseJson(text: string): unknown {
  return /\d{16}/.test(text) ? exactJson.parse(text, keepLongNumbers) : JSON.parse(text);
}

/** Whether `parseJson` kept a number as it is written: an object only by its looks. */
export const isLongNumber = (value: unknown): boolean => exactJson.isRawJSON(value);

/** Whether two JSON texts have the same content. Text that is not JSON equals only itself. */
export function isSameJson(one: Uint8Array, other: Uint8Array): boolean {
  try {
    return canonicalOf(one) === canonicalOf(other);
  } catch {
    return Buffer.compare(one, other) === 0;
  }
}

const canonicalOf = (bytes: Uint8Array): string =>
  canonicalJson(parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')));

/** JSON functions of Node that TypeScript's library does not declare yet. */
const exactJson = JSON as unknown as {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
};

function keepLongNumbers(_key: string, value: unknown, { source = '' }: { source?: string }): unknown {
  return typeof value === 'number' && source.length > 15 ? exactJson.rawJSON(source) : value;
}

function withSortedKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || isLongNumber(value)) return value;
  if (Array.isArray(value)) return value.map(withSortedKeys);
  // Without a prototype, so that "__proto__" is an ordinary key. JavaScript always puts integer-like keys first,
  // on both sides of a comparison.
  const sorted = Object.create(null) as Record<string, unknown>;
  for (const key of Object.keys(value).sort())
    sorted[key] = withSortedKeys((value as Readonly<Record<string, unknown>>)[key]);
  return sorted;
}
