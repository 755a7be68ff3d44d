// Finds words of the list in a text: in prose as they stand, in identifiers word by word.
import { parseSync } from '@swc/core';
import { matchesGlob } from 'node:path';
import type { Exception, Term } from './words.ts';
import { british, dialect, dialectNames, dialectSuffixes, exceptions } from './words.ts';

export interface Finding {
  readonly path: string;
  readonly line: number;
  readonly word: string;
  readonly instead: string;
}

interface Rule {
  readonly pattern: RegExp;
  readonly terms: readonly { readonly pattern: RegExp; readonly instead: string }[];
  /** Whether camelCase and kebab-case are split into words first. */
  readonly isSplit: boolean;
}

const ruleOf = (terms: readonly Term[], flags: string, isSplit: boolean): Rule => ({
  pattern: new RegExp(
    `(?<![\\p{L}\\d])(?:${terms.map((term) => term.pattern).join('|')})(?![\\p{L}\\d])`,
    flags,
  ),
  terms: compiled(terms),
  isSplit,
});

const compiled = (terms: readonly Term[], flags = 'iu'): Rule['terms'] =>
  terms.map(({ pattern, instead }) => ({ pattern: new RegExp(`^(?:${pattern})$`, flags), instead }));

const rules: readonly Rule[] = [
  ruleOf([...dialect, ...british], 'giu', true),
  ruleOf(dialectSuffixes, 'gu', false),
];
const nameTerms = compiled(dialectNames, 'u');

/** `readWish` and `read-wish` become `read wish`; positions within the line do not matter. */
const splitIdentifiers = (line: string): string =>
  line.replace(/(?<=[a-z\d])(?=[A-Z])/g, ' ').replace(/(?<=\p{L})[-_](?=\p{L})/gu, ' ');

/** Every word of the list in `text`, less those that are excepted for `path`. */
export function findWords(path: string, text: string): readonly Finding[] {
  const allowed = exceptions.filter(({ files }) => matchesGlob(path, files));
  if (allowed.some(({ words }) => words === undefined)) return [];
  const inText = text
    .split('\n')
    .flatMap((line, index) => rules.flatMap((rule) => findInLine(rule, line, index + 1)));
  // The path itself is checked as a text too.
  const inNames = codeFile.test(path) && text !== path ? findNames(text, path.endsWith('x')) : [];
  return [...inText, ...inNames]
    .filter(({ word }) => !isAllowed(allowed, word))
    .map((found) => ({ path, ...found }));
}

type Found = Omit<Finding, 'path'>;

const codeFile = /\.[cm]?[jt]sx?$/;

/** Every identifier that is a name of the list: declarations, parameters, keys, methods, and their uses. */
function findNames(text: string, tsx: boolean): readonly Found[] {
  const bytes = Buffer.from(text);
  const found: Found[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const term = isName(node) ? nameTerms.find(({ pattern }) => pattern.test(node.value)) : undefined;
    if (term && isName(node)) {
      // Offsets count bytes, from 1.
      const line = bytes.toString('latin1', 0, node.span.start - 1).split('\n').length;
      found.push({ line, word: node.value, instead: term.instead });
    }
    for (const child of Object.values(node)) visit(child);
  };
  visit(parseSync(text, { syntax: 'typescript', tsx }));
  return found;
}

const isName = (
  node: object,
): node is { readonly value: string; readonly span: { readonly start: number } } =>
  'type' in node && (node.type === 'Identifier' || node.type === 'PrivateName');

function findInLine({ pattern, terms, isSplit }: Rule, text: string, line: number): readonly Found[] {
  return [...(isSplit ? splitIdentifiers(text) : text).matchAll(pattern)].map(([word]) => ({
    line,
    word,
    instead: terms.find((term) => term.pattern.test(word))?.instead ?? '',
  }));
}

const isAllowed = (allowed: readonly Exception[], word: string): boolean =>
  allowed.some(({ words }) => words?.includes(word.toLowerCase()));
