// Reasons for and against a match, and attributes that only one side has.
import type { EntityReview } from '../../../../../src/api/entities.ts';
import { knownAs } from '../labels.ts';

export type ReviewPair = EntityReview['pairs'][number];

export interface MatchReasons {
  readonly reasonsFor: readonly string[];
  readonly reasonsAgainst: readonly string[];
  readonly onOneSide: readonly string[];
}

const clues = [
  ['organization', 'Organization'],
  ['email', 'Email'],
  ['role', 'Role'],
] as const;

export function matchReasons(pair: ReviewPair): MatchReasons {
  const reasons = reasonsOf(pair.evidence);
  const against = reasons.filter(isAgainst);
  const compared = clues.map(([field, word]) => compareClue(word, pair.a[field], pair.b[field]));
  return {
    reasonsFor: reasons.filter((reason) => !isAgainst(reason)).map(sentence),
    reasonsAgainst: [...against.map(sentence), ...compared.flatMap(({ against: reasons }) => reasons)],
    onOneSide: compared.flatMap(({ unknown }) => unknown),
  };
}

/** `S. Okafor may also be Sam Okafor.`: other open pairs of either side, as a warning before merging. */
export function alsoCompared(pair: ReviewPair, all: readonly ReviewPair[]): readonly string[] {
  return [pair.a, pair.b].flatMap((side) => {
    const others = all
      .filter(({ id }) => id !== pair.id)
      .flatMap(({ a, b }) => (a.id === side.id ? [b] : b.id === side.id ? [a] : []));
    const names = [...new Set(others.map(knownAs))];
    return names.length === 0 ? [] : [`${side.canonical_name} may also be ${names.join(', or ')}.`];
  });
}

function reasonsOf({ reasons }: Readonly<Record<string, unknown>>): readonly string[] {
  return Array.isArray(reasons) ? reasons.filter((reason) => typeof reason === 'string') : [];
}

/** Matches the reasons of the name comparison: "they have different …", "the names differ". */
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
  if (cosine) return `Embedding similarity ${cosine[1]}.`;
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}${/[.!?]$/.test(reason) ? '' : '.'}`;
};
