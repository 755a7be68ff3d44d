// Finds words of the list in a text: in prose as they stand, in identifiers word by word.
import { matchesGlob } from 'node:path';
import type { Exception, Term } from './words.ts';
import { british, dialect, dialectSuffixes, exceptions } from './words.ts';

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
  terms: terms.map(({ pattern, instead }) => ({ pattern: new RegExp(`^(?:${pattern})$`, 'iu'), instead })),
  isSplit,
});

const rules: readonly Rule[] = [
  ruleOf([...dialect, ...british], 'giu', true),
  ruleOf(dialectSuffixes, 'gu', false),
];

/** `readWish` and `read-wish` become `read wish`; positions within the line do not matter. */
const splitIdentifiers = (line: string): string =>
  line.replace(/(?<=[a-z\d])(?=[A-Z])/g, ' ').replace(/(?<=\p{L})[-_](?=\p{L})/gu, ' ');

/** Every word of the list in `text`, less those that are excepted for `path`. */
export function findWords(path: string, text: string): readonly Finding[] {
  const allowed = exceptions.filter(({ files }) => matchesGlob(path, files));
  if (allowed.some(({ words }) => words === undefined)) return [];
  return text
    .split('\n')
    .flatMap((line, index) =>
      rules.flatMap((rule) => findInLine(rule, line).map((found) => ({ path, line: index + 1, ...found }))),
    )
    .filter(({ word }) => !isAllowed(allowed, word));
}

function findInLine(
  { pattern, terms, isSplit }: Rule,
  line: string,
): readonly Pick<Finding, 'word' | 'instead'>[] {
  return [...(isSplit ? splitIdentifiers(line) : line).matchAll(pattern)].map(([word]) => ({
    word,
    instead: terms.find((term) => term.pattern.test(word))?.instead ?? '',
  }));
}

const isAllowed = (allowed: readonly Exception[], word: string): boolean =>
  allowed.some(({ words }) => words?.includes(word.toLowerCase()));
