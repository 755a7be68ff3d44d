// Our names are camelCase, our JSON is snake_case. For values we made; what users gave us keeps its names.

/** Of a name in camelCase; others stay as they are. */
export const snakeName = (name: string): string =>
  /^[a-z][a-zA-Z0-9]*$/.test(name)
    ? name.replace(/[A-Z]+/g, (capitals) => `_${capitals.toLowerCase()}`)
    : name;

/** A copy with every object key in snake_case. Dates stay dates. */
export function snakeCase(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date || depth > 20) return value;
  if (Array.isArray(value)) return value.map((item) => snakeCase(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [snakeName(name), snakeCase(item, depth + 1)]),
  );
}
