// Reads a YAML file with line numbers and environment variables.
import type { Document, Node } from 'yaml';
import { isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';

export type Path = readonly PropertyKey[];

export interface Problem {
  readonly line: number;
  readonly text: string;
}

export interface SourceFile {
  /** Plain data, with variables filled in. */
  readonly value: unknown;
  /** The same with `${NAME}` unresolved. */
  readonly written: unknown;
  readonly problems: readonly Problem[];
  /** It is not YAML: there is nothing else to check. */
  readonly isBroken: boolean;
  /** Variables by the path (`pathText`) of their text. */
  readonly variables: ReadonlyMap<string, readonly Variable[]>;
  /** The line of a path, or of a key at it. */
  readonly lineOf: (path: Path, key?: string) => number;
}

export interface Variable {
  readonly name: string;
  readonly value: string;
  /** The text before it, with variables filled in. */
  readonly before: string;
}

export const pathText = (path: Path): string => path.map(String).join('.');

const variable = /\$\{([^}]*)\}/g;

/** Reads the file. Problems with its YAML or its variables are in `problems`. */
export function readSourceFile(text: string, env: Readonly<Record<string, string | undefined>>): SourceFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineOf = (path: Path, key?: string) => lineIn(document, lines, path, key);
  // Further errors are mostly consequences of the first.
  const [error] = document.errors;
  if (error) {
    const { line } = lines.linePos(error.pos[0]);
    const problems = [{ line, text: syntaxProblem(error.message, text.split('\n')[line - 1] ?? '') }];
    return { value: null, written: null, problems, isBroken: true, variables: new Map(), lineOf };
  }
  const written = plain(document);
  if (written === undefined) {
    const problems = [{ line: 1, text: 'its aliases (*name) expand to too much; write them out' }];
    return { value: null, written: null, problems, isBroken: true, variables: new Map(), lineOf };
  }
  const variables = new Map<string, readonly Variable[]>();
  const problems: Problem[] = [];
  const fill = (value: unknown, path: Path): unknown => {
    if (Array.isArray(value)) return value.map((item, index) => fill(item, [...path, index]));
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [key, fill(item, [...path, key])]),
      );
    if (typeof value !== 'string' || !value.includes('${')) return value;
    const found: Variable[] = [];
    const [start = '', ...pieces] = value.split(variable);
    let filled = start;
    for (let index = 0; index < pieces.length; index += 2) {
      const name = pieces[index] ?? '';
      const set = env[name] ?? '';
      if (!/^[A-Za-z_]\w*$/.test(name))
        problems.push({
          line: lineOf(path),
          text: `${pathText(path)}: \${${name}} is not the name of an environment variable`,
        });
      else if (set === '')
        problems.push({
          line: lineOf(path),
          text: `${pathText(path)}: the environment variable ${name} is not set`,
        });
      found.push({ name, value: set, before: filled });
      filled += set + (pieces[index + 1] ?? '');
    }
    variables.set(pathText(path), found);
    return filled;
  };
  return { value: fill(written, []), written, problems, isBroken: false, variables, lineOf };
}

/** Undefined when nested aliases would exhaust the memory. */
function plain(document: Document.Parsed): unknown {
  try {
    return document.toJS() ?? null;
  } catch (error) {
    if (error instanceof ReferenceError) return undefined;
    throw error;
  }
}

function syntaxProblem(message: string, line: string): string {
  const hint = /[{[].*[^"'\w]\$\{/.test(line) ? '; inside { } and [ ] write "${NAME}" with quotes' : '';
  return `not valid YAML: ${message.replace(/\.$/, '')}${hint}`;
}

/** The line of the nearest existing ancestor. */
function lineIn(document: Document, lines: LineCounter, path: Path, key?: string): number {
  for (let length = path.length; length >= 0; length--) {
    const node: unknown = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (!isNode(node)) continue;
    const place = (length === path.length && key !== undefined && keyNode(node, key)) || node;
    return place.range ? lines.linePos(place.range[0]).line : 1;
  }
  return 1;
}

function keyNode(node: Node, key: string): Node | undefined {
  if (!isMap(node)) return undefined;
  const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === key);
  return isScalar(pair?.key) ? pair.key : undefined;
}
