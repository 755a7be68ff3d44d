// Compares the output of a command with a page: words must match; ids, times, sizes and counts may differ.

/** A part of shown output that differs from run to run: how to recognize it, and what it may be instead. */
interface Variable {
  readonly shown: string;
  readonly printed: string;
  /** Its value is stored: a later command on the page that names it means the value of this run. */
  readonly isName?: true;
}

const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const amount = String.raw`\d+(?:[.,]\d+)*`;
const space = String.raw`\s+`;
const duration = `${amount} (?:ms|s|min|h|d)`;

/** The first that matches applies. */
const variables: readonly Variable[] = [
  { shown: uuid, printed: uuid, isName: true },
  // A shortened id: 01a1…86031
  { shown: String.raw`[0-9a-f]*…(?=[a-f]*\d)[0-9a-f]{5}\b`, printed: uuid, isName: true },
  { shown: String.raw`\borg_\w+`, printed: String.raw`org_\w+`, isName: true },
  { shown: String.raw`\bhw[a-z_]*_[\w-]{16,}`, printed: String.raw`hw[a-z_]*_[\w-]{16,}`, isName: true },
  {
    shown: String.raw`\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.]*(?:Z|[+]\d\d:\d\d)?`,
    printed: String.raw`\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.]*(?:Z|[+]\d\d:\d\d)?`,
  },
  {
    shown: String.raw`\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ`,
    printed: String.raw`\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ`,
    isName: true,
  },
  { shown: String.raw`\d{4}-\d\d-\d\d`, printed: String.raw`\d{4}-\d\d-\d\d` },
  { shown: String.raw`\bnow\b|${duration} ago`, printed: `(?:now|${duration} ago)` },
  { shown: String.raw`${duration}\b`, printed: `${duration}(?: ${duration})?` },
  { shown: String.raw`${amount} (?:bytes?|[KMG]iB)\b`, printed: `${amount} (?:bytes?|[KMG]iB)` },
  { shown: String.raw`\b(?=[a-f]*\d)[0-9a-f]{12,}\b`, printed: '[0-9a-f]{12,}' },
  { shown: amount, printed: amount },
  { shown: String.raw`…\s*`, printed: '.*' },
  { shown: space, printed: space },
];
const anyVariable = new RegExp(variables.map(({ shown }) => `(${shown})`).join('|'), 'g');

interface Pattern {
  readonly expression: RegExp;
  /** What the page shows at each group of the expression. */
  readonly names: readonly string[];
}

function patternOf(shown: string): Pattern {
  let expression = '';
  let at = 0;
  const names: string[] = [];
  const literal = (text: string): void => {
    // "1 call" may be "2 calls".
    const plural = expression.endsWith(`${amount}${space}`) ? text.replace(/^([a-z]{3,}?)s?\b/, '$1§') : text;
    expression += plural.replace(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`).replace('§', 's?');
  };
  for (const found of shown.matchAll(anyVariable)) {
    literal(shown.slice(at, found.index));
    at = found.index + found[0].length;
    const variable = variables[found.slice(1).findIndex((group) => group !== undefined)];
    if (variable?.isName) names.push(found[0]);
    expression += variable?.isName ? `(${variable.printed})` : (variable?.printed ?? '');
  }
  literal(shown.slice(at));
  return { expression: new RegExp(`^${expression}$`), names };
}

export interface Comparison {
  /** Null when the output has the shape that the page shows. */
  readonly problem: string | null;
  /** Ids and keys: as the page shows them, and as they are in this run. */
  readonly names: ReadonlyMap<string, string>;
}

const contentOf = (lines: readonly string[]): readonly string[] =>
  lines.map((line) => line.trim()).filter((line) => line !== '');

/** "Probing …" is printed only when it takes long. */
const isProgress = (line: string): boolean => line.endsWith(' …');

/** A line `…` stands for any number of lines, `…` within a line for any text. Blank lines do not count. */
export function compareOutput(shown: readonly string[], printed: readonly string[]): Comparison {
  const names = new Map<string, string>();
  const actual = contentOf(printed);
  let at = 0;
  let isSkipping = false;
  for (const line of contentOf(shown)) {
    if (line === '…') {
      isSkipping = true;
      continue;
    }
    const pattern = patternOf(line);
    const isSkipped = (text: string) => (isSkipping || isProgress(text)) && !pattern.expression.test(text);
    while (at < actual.length && isSkipped(actual[at] ?? '')) at += 1;
    const match = pattern.expression.exec(actual[at] ?? '');
    if (!match) return { problem: `no line like "${line}"`, names };
    for (const [index, name] of pattern.names.entries()) names.set(name, match[index + 1] ?? '');
    at += 1;
    isSkipping = false;
  }
  const surplus = isSkipping ? undefined : actual.slice(at).find((text) => !isProgress(text));
  return { problem: surplus === undefined ? null : `the page does not show "${surplus}"`, names };
}

/** `command` of the page with the ids and keys of this run. */
export function withNames(command: string, names: ReadonlyMap<string, string>): string {
  let result = command;
  for (const [shown, value] of names) {
    const [start = '', end] = shown.split('…');
    // A page that shortens an id in the output has it in full in a command.
    const full = end === undefined ? null : new RegExp(String.raw`\b${start}[0-9a-f-]+${end}\b`, 'g');
    result = full ? result.replace(full, value) : result.replaceAll(shown, value);
  }
  return result;
}
