// Finds and reads headworks.yaml: which option has which raw value, on which line.
import { existsSync, readFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import type { Document } from 'yaml';
import { isAlias, isMap, isScalar, LineCounter, parseDocument, visit } from 'yaml';
import { messageOf } from '../core/errors.ts';
import type { NamedOption } from './config.ts';
import { nearest } from '../core/text.ts';

const fileName = 'headworks.yaml';

export interface FileValue {
  /** Scalars as they are written, so that `007` and `1e3` reach the option untouched; lists and mappings parsed. */
  readonly raw: unknown;
  readonly line: number;
}

export interface ConfigFile {
  /** Absolute; `null` when there is none. */
  readonly path: string | null;
  /** Relative to the working directory where possible, for messages. */
  readonly name: string;
  /** By option path. */
  readonly values: ReadonlyMap<string, FileValue>;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** The file to read, and what named it; by default the one in the working directory. */
export interface FileChoice {
  readonly given: { readonly path: string; readonly by: string } | null;
  readonly cwd: string;
}

export const noConfigFile: ConfigFile = {
  path: null,
  name: fileName,
  values: new Map<string, FileValue>(),
  problems: [],
  warnings: [],
};

/** Never throws: problems are in `problems`, one sentence each. */
export function readConfigFile(choice: FileChoice, options: readonly NamedOption[]): ConfigFile {
  const path = choice.given ? resolve(choice.cwd, choice.given.path) : join(choice.cwd, fileName);
  if (!choice.given && !existsSync(path)) return { ...noConfigFile, warnings: misnamed(choice.cwd) };
  const name = relative(choice.cwd, path).startsWith('..')
    ? path
    : relative(choice.cwd, path) || basename(path);
  try {
    return { ...noConfigFile, ...parseConfigText(readFileSync(path, 'utf8'), name, options), path, name };
  } catch (error) {
    return { ...noConfigFile, path, name, problems: [unreadable(name, choice.given?.by, error)] };
  }
}

/** Parses a configuration file; unknown sections and options are problems. */
export function parseConfigText(
  text: string,
  name: string,
  options: readonly NamedOption[],
): Pick<ConfigFile, 'values' | 'problems'> {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: false });
  const broken = document.errors.map(
    (error) =>
      `${name} line ${lines.linePos(error.pos[0]).line}: ${syntaxProblem(error.code, error.message)}`,
  );
  broken.push(...danglingAliases(document, name, lines));
  if (broken.length > 0) return { values: new Map(), problems: broken };
  return collect(document, name, lines, options);
}

/** `*name` with no `&name` before it: YAML itself only notices when the value is read, and names no line. */
function danglingAliases(document: Document, name: string, lines: LineCounter): readonly string[] {
  const problems: string[] = [];
  visit(document, {
    Alias: (_key, alias) => {
      if (alias.resolve(document)) return;
      const at = `${name} line ${lines.linePos(alias.range?.[0] ?? 0).line}:`;
      problems.push(
        `${at} "*${alias.source}" refers to nothing: there is no "&${alias.source}" above it. ` +
          'Put a text that begins with * in quotes.',
      );
    },
  });
  return problems;
}

function collect(document: Document, name: string, lines: LineCounter, options: readonly NamedOption[]) {
  const values = new Map<string, FileValue>();
  const problems: string[] = [];
  const root: unknown = document.contents;
  if (isEmpty(root)) return { values, problems };
  if (!isMap(root))
    return {
      values,
      problems: [`${name} must have sections, like "server:", with options like "  port: 8420" below.`],
    };
  for (const section of entries(root, document, lines)) {
    const at = `${name} line ${section.line}:`;
    if (!options.some((option) => option.section === section.key)) {
      problems.push(`${at} there is no section "${section.key}"; ${sectionHint(section.key, options)}`);
    } else if (isMap(section.node)) {
      for (const entry of entries(section.node, document, lines)) {
        const path = `${section.key}.${entry.key}`;
        if (entry.key === '<<')
          problems.push(`${name} line ${entry.line}: "<<" does not merge here; write the options out.`);
        else if (!options.some((option) => option.path === path))
          problems.push(
            `${name} line ${entry.line}: there is no option "${path}"; ${optionHint(section.key, entry.key, options)}`,
          );
        else if (!isEmpty(entry.node))
          values.set(path, { raw: rawValue(entry.node, document), line: entry.line });
      }
    } else if (!isEmpty(section.node)) {
      problems.push(
        `${at} "${section.key}" is a section; write its options below it, indented by two spaces.`,
      );
    }
  }
  return { values, problems };
}

/** Aliases are resolved. */
function entries(map: { readonly items: readonly unknown[] }, document: Document, lines: LineCounter) {
  return (map.items as { key: unknown; value: unknown }[]).map(({ key, value }) => ({
    key: isScalar(key) ? String(key.value) : String(key),
    line: isScalar(key) && key.range ? lines.linePos(key.range[0]).line : 1,
    node: isAlias(value) ? value.resolve(document) : value,
  }));
}

/** A key without a value counts as not set, as an empty environment variable does. */
function isEmpty(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null);
}

function rawValue(node: unknown, document: Document): unknown {
  if (isScalar(node))
    return typeof node.value === 'string' ? node.value : (node.source ?? String(node.value));
  return (node as { toJS(document: Document): unknown }).toJS(document);
}

/** The most similar name, or else all names. */
function sectionHint(typed: string, options: readonly NamedOption[]): string {
  const sections = [...new Set(options.map((option) => option.section))];
  const meant = nearest(typed, sections) ?? optionLike(typed, options);
  return meant === undefined ? `there are ${sections.join(', ')}.` : `did you mean "${meant}"?`;
}

function optionHint(section: string, typed: string, options: readonly NamedOption[]): string {
  const siblings = options.filter((option) => option.section === section);
  const meant = optionLike(typed, siblings) ?? optionLike(typed, options);
  const fields = siblings.map((option) => option.field).join(', ');
  return meant === undefined ? `"${section}" has ${fields}.` : `did you mean "${meant}"?`;
}

function optionLike(typed: string, options: readonly NamedOption[]): string | undefined {
  const field = nearest(
    typed,
    options.map((option) => option.field),
  );
  return options.find((option) => option.field === field)?.path;
}

function syntaxProblem(code: string, message: string): string {
  if (code === 'TAB_AS_INDENT') return 'YAML is indented with spaces; this line has a tab.';
  if (code === 'DUPLICATE_KEY') return 'the key is duplicated; keep one of them.';
  if (code === 'MULTIPLE_DOCS') return 'only one YAML document is read; remove the "---" between them.';
  return `not valid YAML: ${message}${/[.!?]$/.test(message) ? '' : '.'}`;
}

function misnamed(cwd: string): readonly string[] {
  const other = ['headworks.yml', '.headworks.yaml', '.headworks.yml'].find((file) =>
    existsSync(join(cwd, file)),
  );
  return other === undefined
    ? []
    : [`${other} is not read; rename it to ${fileName}, or give it with --config.`];
}

function unreadable(name: string, by: string | undefined, error: unknown): string {
  const code = (error as { code?: unknown }).code;
  const named = by === undefined ? '' : ` (${by})`;
  if (code === 'ENOENT') return `There is no file ${name}${named}; check the path.`;
  if (code === 'EISDIR') return `${name}${named} is a folder; give the file itself.`;
  if (code === 'EACCES') return `${name}${named} may not be read by this user; check its permissions.`;
  return `${name}${named} cannot be read: ${messageOf(error)}`;
}
