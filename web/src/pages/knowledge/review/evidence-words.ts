// What speaks for and against two entities being one, in words; and what only one of them is known by.
import type { EntityReviewAnswer } from '../../../../../src/http/contract.ts';
import { knownAs } from '../words.ts';

export type ReviewPair = EntityReviewAnswer['pairs'][number];

export interface EvidenceWords {
  readonly speaksFor: readonly string[];
  readonly speaksAgainst: readonly string[];
  readonly notKnown: readonly string[];
}

const clues = [
  ['organization', 'Organization'],
  ['email', 'Mail'],
  ['role', 'Role'],
] as const;

export function evidenceWords(pair: ReviewPair): EvidenceWords {
  const reasons = reasonsOf(pair.evidence);
  const against = reasons.filter(isAgainst);
  const compared = clues.map(([field, word]) => compareClue(word, pair.a[field], pair.b[field]));
  return {
    speaksFor: reasons.filter((reason) => !isAgainst(reason)).map(sentence),
    speaksAgainst: [...against.map(sentence), ...compared.flatMap(({ against: said }) => said)],
    notKnown: compared.flatMap(({ unknown }) => unknown),
  };
}

/** `S. Okafor may also be Sam Okafor.`: whom else a side of the pair is compared with, so that nobody merges in haste. */
export function alsoCompared(pair: ReviewPair, all: readonly ReviewPair[]): readonly string[] {
  return [pair.a, pair.b].flatMap((side) => {
    const others = all
      .filter(({ pair_id: id }) => id !== pair.pair_id)
      .flatMap(({ a, b }) =>
        a.entity_id === side.entity_id ? [b] : b.entity_id === side.entity_id ? [a] : [],
      );
    const names = [...new Set(others.map(knownAs))];
    return names.length === 0 ? [] : [`${side.canonical_name} may also be ${names.join(', or ')}.`];
  });
}

function reasonsOf({ reasons }: Readonly<Record<string, unknown>>): readonly string[] {
  return Array.isArray(reasons) ? reasons.filter((reason) => typeof reason === 'string') : [];
}

/** As comparing names says it: "they have different …", "the names differ". */
const isAgainst = (reason: string): boolean => /\bdiffer|\bno visible name/.test(reason);

interface Compared {
  readonly against: readonly string[];
  readonly unknown: readonly string[];
}

function compareClue(word: string, a: string | null, b: string | null): Compared {
  if (a === b || a?.toLowerCase() === b?.toLowerCase()) return { against: [], unknown: [] };
  if (a === null || b === null)
    return { against: [], unknown: [`${word}: ${a ?? b} (${a === null ? 'right' : 'left'}).`] };
  return { against: [`${word}: ${a} (left), ${b} (right).`], unknown: [] };
}

const sentence = (reason: string): string => {
  const cosine = /^cosine (.+)$/.exec(reason);
  if (cosine) return `Their vectors are alike (${cosine[1]} of 1).`;
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}${/[.!?]$/.test(reason) ? '' : '.'}`;
};
