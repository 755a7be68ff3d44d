// JSON as lines that people and rules can read: one for each value, with the way to it.

/** Deeper than any document; what lies below is written as JSON. */
const deepest = 40;

/** `owner.name: Ann`; texts of several lines stand below their name. Empty values are left out. */
export function jsonText(value: unknown): string {
  const lines: string[] = [];
  write(value, '', 0, lines);
  return lines.join('\n');
}

/** A JSON text, or several, one to a line. Null when it is neither. */
export function parseJsonText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return parseLines(text);
  }
}

function parseLines(text: string): unknown {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length < 2) return null;
  try {
    return lines.map((line) => JSON.parse(line) as unknown);
  } catch {
    return null;
  }
}

function write(value: unknown, path: string, depth: number, lines: string[]): void {
  if (value === null || value === undefined || value === '') return;
  if (typeof value !== 'object' || depth >= deepest) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const name = path === '' ? '' : `${path}:`;
    lines.push(text.includes('\n') ? `${name}\n${text}` : `${name} ${text}`.trimStart());
    return;
  }
  const entries = Array.isArray(value)
    ? value.map((each, index) => [typeof each === 'object' ? `${path}[${index}]` : path, each] as const)
    : Object.entries(value).map(
        ([key, each]) => [path === '' ? key : `${path}.${key}`, each as unknown] as const,
      );
  for (const [way, each] of entries) write(each, way, depth + 1, lines);
}
