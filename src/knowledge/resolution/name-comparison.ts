// What comparing two names says, in points: about what logarithms of odds would be, found on generated names.

export type NameRelation =
  | 'same' // the same words
  | 'variant' // the same name written otherwise: nickname, word order, company form, generic noun
  | 'typing-error'
  | 'initials' // initials or a handle of it, an acronym
  | 'part' // one word of it
  | 'other';

export interface NameComparison {
  readonly relation: NameRelation;
  /** `pointsForSame` and more: the same unless something speaks against it. Below 0: it speaks against it. */
  readonly points: number;
  readonly reason: string;
  /** Written otherwise, and two people may be called that: Johnson and Johnston, Maria and Mario. */
  readonly isOtherSpelling?: boolean;
}

export const otherName = (points: number): NameComparison => ({
  relation: 'other',
  points,
  reason: 'the names differ',
});
