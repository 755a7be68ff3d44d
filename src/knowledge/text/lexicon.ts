// What kind of word a word is: the word lists of compromise, looked up. Its tagger is not used: it reads some twenty
// chunks a second, and a lookup takes well under a microsecond.
import nlp from 'compromise/two';

export type WordKind =
  | 'given'
  | 'surname'
  | 'place'
  | 'organization'
  | 'verb'
  | 'past'
  | 'noun'
  | 'adjective'
  | 'function';

interface Model {
  readonly one: { readonly lexicon: Readonly<Record<string, string | readonly string[]>> };
}

const kindOfTag: Readonly<Record<string, WordKind>> = {
  FemaleName: 'given',
  MaleName: 'given',
  FirstName: 'given',
  LastName: 'surname',
  City: 'place',
  Country: 'place',
  Region: 'place',
  Place: 'place',
  Organization: 'organization',
  SportsTeam: 'organization',
  Infinitive: 'verb',
  PastTense: 'past',
  Participle: 'past',
  PresentTense: 'past',
  Adjective: 'adjective',
  Comparative: 'adjective',
  Superlative: 'adjective',
  Determiner: 'function',
  Preposition: 'function',
  Conjunction: 'function',
  Possessive: 'function',
  Pronoun: 'function',
  Reflexive: 'function',
  Modal: 'function',
  Copula: 'function',
  Verb: 'function',
  Negative: 'function',
  Adverb: 'function',
  QuestionWord: 'function',
  Expression: 'function',
};

/** Whole names of well-known people tell nothing of their parts. */
const truncated = new Set(['Person', 'Emoticon', 'PhrasalVerb']);

const kinds = new Map<string, WordKind>();
for (const [word, tags] of Object.entries((nlp.model() as Model).one.lexicon)) {
  const all = typeof tags === 'string' ? [tags] : tags;
  if (all.some((tag) => truncated.has(tag))) continue;
  const [tag = ''] = all;
  kinds.set(word, all.includes('Abbreviation') ? 'noun' : (kindOfTag[tag] ?? 'noun'));
}

/** Given names that are words as well: alone they mean somebody only where the sentence says so. */
const namesAndWords =
  'will mark grace joy hope faith may april june august rose art bill chase drew grant sue pat rich frank jack rob ray dean miles gene guy lance max nick norm penny pearl rusty skip summer sunny tab victor ward wade dawn eve ivy iris lily olive ruby sage violet heather hazel ginger crystal amber jade autumn angel bliss charity christian earnest glory harmony honor jewel justice melody merry patience prudence royal serenity sky star sterling trinity will rocky reed robin wren jay sandy brook cliff heath dale glen ford chance trace case ace king prince duke earl major buddy'.split(
    ' ',
  );
const isNameAndWord = new Set(namesAndWords);
const monthNames = new Set(['april', 'may', 'june', 'august']);

/** Of a word or, for places and organizations, several, in lower case. Undefined: no list has it. */
export const wordKind = (word: string): WordKind | undefined => kinds.get(word);

/** A given name that is also a word ("Grace", "Mark"). */
export const isAmbiguousName = (word: string): boolean => isNameAndWord.has(word);

/** April, May, June and August: names, but months nearly always. */
export const isMonth = (word: string): boolean => monthNames.has(word);

export const isGivenName = (word: string): boolean =>
  kinds.get(word) === 'given' || isNameAndWord.has(word) || kinds.get(plainLetters(word)) === 'given';

/** Lists have "maria", texts also "maría". */
const plainLetters = (word: string): string =>
  /^[a-z]*$/.test(word) ? '' : word.normalize('NFD').replaceAll(/\p{M}/gu, '');

const everyday: ReadonlySet<WordKind | undefined> = new Set([
  'verb',
  'past',
  'noun',
  'adjective',
  'function',
]);

/** A word of the language that names nobody and nothing by itself. */
export const isEveryday = (word: string): boolean => everyday.has(kinds.get(word));
