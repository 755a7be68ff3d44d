// What a model said to the question whom a name means, read: small models have habits, and what cannot be used is told.
import { findJson } from '../../core/index.ts';
import type { MergeDecision } from '../ports.ts';

export interface Confirmation extends MergeDecision {
  /** Of a `same`: which candidate, counted from 0. */
  readonly match: number | null;
}

/** Longer answers are no answers. */
const longestAnswer = 20_000;
const longestText = 300;

type Decision = MergeDecision['decision'];

/** In plain letters: no case, no blanks, dashes or signs. */
const decisions: ReadonlyMap<string, Decision> = new Map(
  Object.entries({
    same: 'same yes true match matches matched identical equal equals equivalent merge sameentity sameperson samething',
    different:
      'different no false notsame notthesame nomatch notamatch none noneofthem distinct separate differententity differentperson new newentity dontmerge donotmerge unrelated',
    uncertain:
      'uncertain unsure notsure notcertain unclear unknown maybe perhaps possibly possiblysame ambiguous undecided undetermined cannottell cannotdetermine insufficientinformation',
  } as const).flatMap(([decision, words]) =>
    words.split(' ').map((word) => [word, decision as Decision] as const),
  ),
);

const plainWord = (value: unknown): string =>
  ['string', 'boolean'].includes(typeof value)
    ? String(value)
        .slice(0, 100)
        .toLowerCase()
        .replaceAll(/[^a-z]/g, '')
    : '';

/** A decision, or what is wrong with the answer, in a sentence. Never fails. `names`: those of the candidates. */
export function readConfirmation(
  said: unknown,
  names: readonly string[],
): Confirmation | { readonly problem: string } {
  if (typeof said !== 'string') return { problem: 'It is no text.' };
  if (said.length > longestAnswer) return { problem: `It has ${said.length} characters.` };
  const fields = fieldsOf(said);
  if (fields === null) return { problem: 'It holds no JSON object.' };
  const decision = decisions.get(
    plainWord(fieldOf(fields, 'decision', 'answer', 'verdict', 'same', 'match')),
  );
  if (decision === undefined)
    return { problem: '"decision" is not one of "same", "different" and "uncertain".' };
  const match = decision === 'same' ? candidateOf(fields, names) : null;
  if (decision === 'same' && match === null)
    return { problem: 'It says "same" without the number of a candidate that was listed.' };
  return {
    decision,
    match,
    canonicalName: textOf(fieldOf(fields, 'canonical_name')),
    reason: textOf(fieldOf(fields, 'reason', 'explanation')) || 'No reason given.',
  };
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The object that the answer holds, also one in a list or in another; a bare word of decision is one. */
function fieldsOf(said: string): Fields | null {
  const found = findJson(said, longestAnswer);
  const value = Array.isArray(found?.value) && found.value.length === 1 ? found.value[0] : found?.value;
  if (isFields(value)) {
    const [inner] = Object.values(value);
    return Object.keys(value).length === 1 && isFields(inner) ? inner : value;
  }
  const word = found === undefined ? said : value;
  return decisions.has(plainWord(word)) ? { decision: word } : null;
}

/** The first of these that is there, however its name is written. */
function fieldOf(fields: Fields, ...keys: readonly string[]): unknown {
  for (const key of keys)
    for (const [name, value] of Object.entries(fields)) if (plainWord(name) === plainWord(key)) return value;
  return undefined;
}

/** By its number, in digits or as "candidate 2"; by its name, if no other is called that. Alone it needs neither. */
function candidateOf(fields: Fields, names: readonly string[]): number | null {
  const given = fieldOf(fields, 'candidate', 'candidate_number', 'number', 'match');
  if (given === undefined || given === null || given === true) return names.length === 1 ? 0 : null;
  if (typeof given !== 'string' && typeof given !== 'number') return null;
  const text = String(given).trim().toLowerCase();
  const called = names.flatMap((name, index) => (name.trim().toLowerCase() === text ? [index] : []));
  if (called.length === 1) return called[0] ?? null;
  const digits = /^(?:candidate|number|no\.?|#)*\s*#?(\d{1,3})$/.exec(text)?.[1];
  const number = Number(digits ?? Number.NaN);
  return number >= 1 && number <= names.length ? number - 1 : null;
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value.trim().slice(0, longestText) : '';
