// Reads a source file: YAML with line numbers and environment variables, and no literal secrets.
import type { Document, Node, YAMLMap } from 'yaml';
import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml';
import { isSecretName, maskShapes } from '../../../core/redaction.ts';
import { valueAt } from '../../parsing/json.ts';

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

/** A path as a key. */
export const pathText = (path: Path): string => path.map(String).join('.');

const maxNameLength = 60;

/** A path for messages: `resource 2 (tickets): query.page`. Entries of lists are counted from 1. */
export function placeText(path: Path, written: unknown): string {
  const [first, index, ...rest] = path;
  if (first !== 'resources' || typeof index !== 'number') return countedText(path);
  const name = valueAt(written, ['resources', String(index), 'name']);
  const named = typeof name === 'string' ? ` (${name.slice(0, maxNameLength)})` : '';
  return [`resource ${index + 1}${named}`, ...(rest.length > 0 ? [countedText(rest)] : [])].join(': ');
}

const countedText = (path: Path): string =>
  pathText(path.map((key) => (typeof key === 'number' ? key + 1 : key)));

const variable = /\$\{([^{}]*)\}/g;

/** Several hundred resources; parsing them takes about 100 ms. */
const maxFileLength = 100_000;

/** Reads the file. Problems with its YAML or its variables are in `problems`. */
export function readSourceFile(text: string, env: Readonly<Record<string, string | undefined>>): SourceFile {
  const lines = new LineCounter();
  const broken = (problem: Problem): SourceFile => ({
    value: null,
    written: null,
    problems: [problem],
    isBroken: true,
    variables: new Map(),
    lineOf: () => problem.line,
  });
  if (text.length > maxFileLength)
    return broken({
      line: 1,
      text: `the file has more than ${maxFileLength.toLocaleString('en')} characters; split it into several sources`,
    });
  if (isNestedBeyond(text, maxNesting))
    return broken({ line: 1, text: `it is nested more than ${maxNesting} levels deep` });
  // The library compares every two keys of a mapping: minutes for 30,000 of them.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  // Further errors are mostly consequences of the first.
  const [error] = document.errors;
  if (error) {
    const { line } = lines.linePos(error.pos[0]);
    return broken({ line, text: syntaxProblem(error.message, text.split('\n')[line - 1] ?? '') });
  }
  const nodes = new NodeIndex(document);
  const repeated = nodes.firstRepeatedKey();
  if (repeated) {
    const { line } = lines.linePos(repeated.range?.[0] ?? 0);
    return broken({ line, text: 'not valid YAML: Map keys must be unique' });
  }
  const written = plain(document);
  if (written === undefined)
    return broken({ line: 1, text: 'its aliases (*name) expand to too much; write them out' });
  const lineOf = (path: Path, key?: string) => {
    const { range } = nodes.nearest(path, key) ?? {};
    return range ? lines.linePos(range[0]).line : 1;
  };
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
          text: `${placeText(path, written)}: \${${name}} is not the name of an environment variable`,
        });
      else if (set === '')
        problems.push({
          line: lineOf(path),
          text: `${placeText(path, written)}: the environment variable ${name} is not set`,
        });
      found.push({ name, value: set, before: filled });
      filled += set + (pieces[index + 1] ?? '');
    }
    variables.set(pathText(path), found);
    return filled;
  };
  return { value: fill(written, []), written, problems, isBroken: false, variables, lineOf };
}

/** Deeper than any source; each level takes the library more time than the one before. */
const maxNesting = 500;

/** Counts brackets only: indentation takes more characters for each level. */
function isNestedBeyond(text: string, max: number): boolean {
  let depth = 0;
  for (const sign of text.match(/[[\]{}]/g) ?? []) {
    depth = Math.max(0, depth + (sign === '[' || sign === '{' ? 1 : -1));
    if (depth > max) return true;
  }
  return false;
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

/** A longer line is not searched for a hint. */
const maxLineLength = 1_000;

function syntaxProblem(message: string, line: string): string {
  const hint = /[{[].*[^"'\w]\$\{/.test(line.slice(0, maxLineLength))
    ? '; inside { } and [ ] write "${NAME}" with quotes'
    : '';
  return `not valid YAML: ${message.replace(/\.$/, '')}${hint}`;
}

/** Nodes by path. Each mapping is indexed once, so that a file with many problems is read in linear time. */
class NodeIndex {
  readonly #document: Document.Parsed;
  readonly #entries = new WeakMap<
    YAMLMap,
    ReadonlyMap<string, { readonly key: Node; readonly value: unknown }>
  >();

  constructor(document: Document.Parsed) {
    this.#document = document;
  }

  /** The node of the path, or of a key at it; else the nearest existing ancestor. */
  nearest(path: Path, key?: string): Node | null {
    let node: Node | null = this.#document.contents;
    for (const name of path) {
      const child: unknown = isMap(node)
        ? this.#entriesOf(node).get(String(name))?.value
        : isSeq(node)
          ? node.items[Number(name)]
          : undefined;
      if (!isNode(child)) return node;
      node = child;
    }
    return (key !== undefined && isMap(node) ? this.#entriesOf(node).get(key)?.key : undefined) ?? node;
  }

  firstRepeatedKey(): Node | null {
    let repeated: Node | null = null;
    visit(this.#document, {
      Map: (_, map) => {
        const seen = new Set<string>();
        for (const { key } of map.items) {
          if (!isScalar(key)) continue;
          const name = String(key.value);
          if (seen.has(name)) {
            repeated = key;
            return visit.BREAK;
          }
          seen.add(name);
        }
        return undefined;
      },
    });
    return repeated;
  }

  #entriesOf(map: YAMLMap): ReadonlyMap<string, { readonly key: Node; readonly value: unknown }> {
    const known = this.#entries.get(map);
    if (known) return known;
    const entries = new Map(
      map.items.flatMap(({ key, value }) =>
        isScalar(key) ? [[String(key.value), { key, value }] as const] : [],
      ),
    );
    this.#entries.set(map, entries);
    return entries;
  }
}

// Files are shared and kept in git, so secrets must be `${NAME}`.

const secretFields = ['token', 'password', 'value', 'client_secret'];

/** Names of API keys, besides the names that are secret everywhere. */
const keyNames =
  /^(x[_-])?(api|app|auth|access)?[_-]?(key|sig|signature|auth|jwt|sid|pin|pass|passcode|credentials?)$/i;

/** Allowed before and after a variable: a scheme or a name with a separator (`Bearer `, `token="`). */
const around = /^(?:[A-Za-z-]{0,20}[\s=:,;"'&@])*$/;

/** One problem per literal in the place of a secret, and per text that looks like one. Never contains the value. */
export function literalSecrets(file: SourceFile): readonly Problem[] {
  const root = mapping(file.written);
  const auth = mapping(root['auth']);
  const body = mapping(auth['body']);
  const resources: readonly unknown[] = Array.isArray(root['resources']) ? root['resources'] : [];
  const places: readonly Path[] = [
    ...secretFields.filter((field) => field in auth).map((field) => ['auth', field]),
    ...secretKeys(body).map((key) => ['auth', 'body', key]),
    ...secretKeys(mapping(root['headers'])).map((key) => ['headers', key]),
    ...resources.flatMap((resource, index) =>
      secretKeys(mapping(mapping(resource)['query'])).map((key) => ['resources', index, 'query', key]),
    ),
  ];
  const literal = places.filter((path) => isLiteral(valueAt(file.written, path.map(String))));
  const alike = textsIn(file.written).filter(
    // A password before the host is reported separately.
    ([path, text]) => maskShapes(text) !== text && !(path[0] === 'base_url' && text.includes('@')),
  );
  const found = new Map([...literal, ...alike.map(([path]) => path)].map((path) => [pathText(path), path]));
  const isLoginWithout =
    auth['type'] === 'login' &&
    Object.keys(body).every((key) => !file.variables.has(pathText(['auth', 'body', key]))) &&
    found.size === 0;
  return [...found.values(), ...(isLoginWithout ? [['auth', 'body']] : [])].map((path) => ({
    line: file.lineOf(path),
    text: `${placeText(path, file.written)}: a secret must not be in this file; write \${NAME} and set that environment variable`,
  }));
}

/** Whether a value has no variable, or one beside text that may be part of the secret. */
function isLiteral(value: unknown): boolean {
  const [first = '', ...others] = String(value).split(/\$\{[^{}]*\}/);
  return others.length === 0 || ![first, ...others].every((text) => around.test(text));
}

/** Every text with its path, without variables. */
function textsIn(value: unknown, path: Path = []): readonly (readonly [path: Path, text: string])[] {
  if (typeof value === 'string') return [[path, value.replaceAll(/\$\{[^{}]*\}/g, '')]];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    textsIn(inner, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}

const secretKeys = (map: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.keys(map).filter((name) => isSecretName(name) || keyNames.test(name));

function mapping(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
