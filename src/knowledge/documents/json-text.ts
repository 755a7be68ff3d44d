// JSON as lines that people can read and search: one for each value, with the way to it.
import { KnowledgeError } from '../errors.ts';

/** Deeper than any document that somebody wrote; what nests further was made to break readers. */
const deepestText = 500;
/** What lies below is written as JSON. */
const deepestPath = 40;

/**
 * `owner.name: Ann`; a text of several lines stands below its name, each line behind two blanks; a value without a name
 * behind `-`. Records of a list are parted by a blank line. Empty values are left out.
 */
export function jsonText(value: unknown): string {
  const records = Array.isArray(value) && value.some(isStructure) ? value : [value];
  return records
    .map((record) => {
      const lines: string[] = [];
      write(record, '', 0, lines);
      return lines.join('\n');
    })
    .filter((record) => record !== '')
    .join('\n\n');
}

/** What a JSON text, or several, one to a line, hold; of lines also how many are no JSON. */
export interface ParsedJson {
  readonly value: unknown;
  readonly brokenLines: number;
}

/** Null when it is neither. Fails with KNOWLEDGE_DOCUMENT_UNREADABLE when it is nested too deeply. */
export function parseJsonText(text: string): ParsedJson | null {
  if (isNestedBeyond(text, deepestText))
    throw new KnowledgeError(
      'KNOWLEDGE_DOCUMENT_UNREADABLE',
      `The document cannot be read: as JSON it is nested more than ${deepestText} levels deep. Send it flatter, or as text.`,
    );
  try {
    return { value: JSON.parse(text) as unknown, brokenLines: 0 };
  } catch {
    return parseLines(text);
  }
}

/** A line that was cut off, or a word of a program between the records, costs that line; it stays as it is. */
function parseLines(text: string): ParsedJson | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  let brokenLines = 0;
  const value = lines.map((line): unknown => {
    try {
      return JSON.parse(line) as unknown;
    } catch {
      brokenLines++;
      return line;
    }
  });
  return lines.length >= 2 && brokenLines <= lines.length / 2 && value.some(isStructure)
    ? { value, brokenLines }
    : null;
}

const isStructure = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** Counted before it is parsed: whoever walks through it later must not run out of stack. */
function isNestedBeyond(text: string, most: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const sign = text.charCodeAt(at);
    if (sign === signs.backslash && isInString) at++;
    else if (sign === signs.quote) isInString = !isInString;
    else if (isInString) continue;
    else if (sign === signs.list || sign === signs.record) depth++;
    else if (sign === signs.listEnd || sign === signs.recordEnd) depth--;
    if (depth > most) return true;
  }
  return false;
}

const signs = {
  quote: 0x22,
  list: 0x5b,
  backslash: 0x5c,
  listEnd: 0x5d,
  record: 0x7b,
  recordEnd: 0x7d,
} as const;

function write(value: unknown, path: string, depth: number, lines: string[]): void {
  if (value === null || value === undefined || value === '') return;
  if (typeof value !== 'object' || depth >= deepestPath) {
    const text = typeof value === 'string' ? value.trim() : JSON.stringify(value);
    const name = path === '' ? '-' : `${path}:`;
    if (text === '') return;
    const [first = '', ...others] = text.split(/\r\n|[\n\r\u2028\u2029]/);
    lines.push(...(others.length === 0 ? [`${name} ${first}`] : [name, ...[first, ...others].map(indented)]));
    return;
  }
  if (Array.isArray(value))
    for (const [index, each] of value.entries())
      write(each, isStructure(each) ? `${path}[${index}]` : path, depth + 1, lines);
  else
    for (const [key, each] of Object.entries(value))
      write(each, path === '' ? named(key) : `${path}.${named(key)}`, depth + 1, lines);
}

const indented = (line: string): string => `  ${line}`;

/** A name is one line, and ends where its value begins. */
const named = (key: string): string => key.replaceAll(/\s+/g, ' ').replaceAll(': ', ' ').trim();
