// Writes src/knowledge/text/word-kinds.txt from the lexicon of compromise: node scripts/word-kinds.ts --write
//
// Importing compromise takes .3 to .5 s of the thread that does it, and 50 MB; reading the file takes some milliseconds.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import nlp from 'compromise/two';
import type { WordKind } from '../src/knowledge/text/lexicon.ts';
import { wordKindsFile } from '../src/knowledge/text/lexicon.ts';

interface Model {
  readonly one: { readonly lexicon: Readonly<Record<string, string | readonly string[]>> };
}

const tagsOfKind: Readonly<Record<Exclude<WordKind, 'noun'>, string>> = {
  given: 'FemaleName MaleName FirstName',
  surname: 'LastName',
  place: 'City Country Region Place',
  organization: 'Organization SportsTeam',
  verb: 'Infinitive',
  past: 'PastTense Participle PresentTense',
  adjective: 'Adjective Comparative Superlative',
  function: `Determiner Preposition Conjunction Possessive Pronoun Reflexive Modal Copula Verb Negative Adverb
    QuestionWord Expression`,
};

/** Full names of well-known people; their parts are not used. */
const skippedTags = new Set(['Person', 'Emoticon', 'PhrasalVerb']);

const header =
  '# From the lexicon of compromise (MIT license, Copyright (c) Spencer Kelly) by scripts/word-kinds.ts.';
const maxWidth = 118;

/** The content of the file: words by kind, in lines of words with commas between them. */
export function wordKindsText(): string {
  const byKind = Map.groupBy(wordsWithKinds(), ([, kind]) => kind);
  const sections = [...byKind].map(([kind, words]) => `[${kind}]\n${lines(words.map(([word]) => word))}`);
  return `${header}\n${sections.join('\n')}\n`;
}

function wordsWithKinds(): readonly (readonly [word: string, kind: WordKind])[] {
  const { lexicon } = (nlp.model() as unknown as Model).one;
  const kindOfTag = new Map(
    Object.entries(tagsOfKind).flatMap(([kind, tags]) =>
      tags.split(/\s+/).map((tag) => [tag, kind as WordKind] as const),
    ),
  );
  return Object.entries(lexicon)
    .map(([word, tags]) => [word, typeof tags === 'string' ? [tags] : tags] as const)
    .filter(([, tags]) => !tags.some((tag) => skippedTags.has(tag)))
    .map(([word, tags]): readonly [string, WordKind] => [
      word,
      tags.includes('Abbreviation') ? 'noun' : (kindOfTag.get(tags[0] ?? '') ?? 'noun'),
    ])
    .sort(([one], [other]) => (one < other ? -1 : 1));
}

function lines(words: readonly string[]): string {
  let width = 0;
  return words
    .map((word, index) => {
      const isNewLine = index === 0 || width + word.length + 1 > maxWidth;
      width = isNewLine ? word.length : width + word.length + 1;
      if (index === 0) return word;
      return (isNewLine ? '\n' : ',') + word;
    })
    .join('');
}

if (process.argv.includes('--write')) writeFileSync(fileURLToPath(wordKindsFile), wordKindsText());
