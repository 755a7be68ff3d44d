// Reads a source file: YAML with line numbers and environment variables, and no literal secrets.
import type { Document, Node } from 'yaml';
import { isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';
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

// Files are shared and kept in git, so secrets must be `${NAME}`.

const secretFields = ['token', 'password', 'value', 'client_secret'];

/** Names of API keys, besides the names that are secret everywhere. */
const keyNames =
  /^(x[_-])?(api|app|auth|access)?[_-]?(key|sig|signature|auth|jwt|sid|pin|pass|passcode|credentials?)$/i;

/** Allowed before and after a variable: a scheme or a name with a separator (`Bearer `, `token="`). */
const around = /^(?:[A-Za-z-]{0,20}[\s=:,;"'&@]+)*$/;

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

/** Without a variable, or with one beside text that may be part of the secret. */
function isLiteral(value: unknown): boolean {
  const [first = '', ...others] = String(value).split(/\$\{[^}]*\}/);
  return others.length === 0 || ![first, ...others].every((text) => around.test(text));
}

/** Every text with its path, without variables. */
function textsIn(value: unknown, path: Path = []): readonly (readonly [path: Path, text: string])[] {
  if (typeof value === 'string') return [[path, value.replaceAll(/\$\{[^}]*\}/g, '')]];
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
